// like: reduce/tiled_3
// A plain OpenCL function, and memory of the group that the host gives.
#define LID get_local_id(0)
#define ADD(x, y) ((x) + (y))
inline int load(__global const int *in, int i, int n) { return i < n ? in[i] : 0; }
void fold(__local int *s, int half) { if (LID < half) s[LID] = ADD(s[LID], s[LID + half]); }
__kernel void sum(__global const int *in, __global int *out, __local int *scratch, int n)
{
    scratch[LID] = load(in, get_global_id(0), n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half = get_local_size(0) / 2; half > 0; half >>= 1) {
        fold(scratch, half);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (LID == 0) out[get_group_id(0)] = scratch[0];
}
