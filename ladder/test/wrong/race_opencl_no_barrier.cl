/* like: reduce/tiled_3
 * class: race
 * caught: race */
__kernel void reduce(__global const float *in, __global float *out, const uint n, __local float *data)
{
    uint tid = get_local_id(0), i = get_global_id(0);
    data[tid] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = get_local_size(0) / 2; s > 0; s >>= 1)
        if (tid < s) data[tid] += data[tid + s];
    if (tid == 0) out[get_group_id(0)] = data[0];
}
