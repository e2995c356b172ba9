#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NetCDF at its edges: attributes of other types than their variables, files that are cut or whose header lies, many dimensions,
# dimensions that hide others, files joined along any dimension, small chunks, types that are no numbers. The files are made by
# ncgen (netcdf-bin) and python3; skipped where ncgen or libnetcdf is not.
command -v ncgen >/dev/null && command -v ncdump >/dev/null || { echo "netcdf: skipped: no ncgen"; exit 77; }
# shellcheck source=test/cli/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli/check.sh"

make() { # FILE KIND CDL: the text without its beginning
    printf 'netcdf f { %s }\n' "$3" >f.cdl && ncgen -k "$2" -o "$1" f.cdl || exit 1
}
line() { ok "tally $1 | paste -sd' '" "$2"; }
make m.nc classic 'dimensions: t = 4 ; variables: short v(t) ; data: v = 1, 2, 3, 4 ;'
if tally reduce sum m.nc 2>&1 | grep -q 'libnetcdf is not here'; then echo "netcdf: skipped: no libnetcdf"; exit 77; fi

# ---- a value that is no number of the stored type stands for nothing ----
missing() { # TYPE ATTRIBUTES VALUES RESULT: as f64, missing ones nan
    local kinds=netCDF-4
    [[ "$1 $2" =~ uint|int64|ubyte|ll ]] || kinds+=' classic'
    for kind in $kinds; do
        make m.nc $kind "dimensions: t = 4 ; variables: $1 v(t) ; $2 data: v = $3 ;"
        line 'scan last --dtype f64 m.nc' "$4"
    done
}
missing short 'v:missing_value = 70000 ;' '1, 2, 4464, 5' '1 2 4464 5'
missing short 'v:missing_value = NaN ;' '1, 0, 0, 5' '1 0 0 5'
missing short 'v:missing_value = 1.5 ;' '1, 2, 0, 5' '1 2 0 5'
missing short 'v:missing_value = 5., 2.f ;' '1, 2, 0, 5' '1 nan 0 nan'
missing short 'v:missing_value = -32769ll, 32768ll, 2ll ;' '-32768, 2, 32767, 5' '-32768 nan 32767 5'
missing byte 'v:missing_value = 256, -129 ;' '0, 127, 1, 5' '0 127 1 5'
missing ubyte 'v:missing_value = -1 ;' '0, 255, 1, 5' '0 255 1 5'
missing ubyte 'v:missing_value = 255 ;' '0, 255, 1, 5' '0 nan 1 5'
missing uint 'v:missing_value = 4294967296ll, -1 ;' '0, 4294967295, 1, 5' '0 4294967295 1 5'
missing int64 'v:missing_value = 1e19, 3. ;' '-9223372036854775807, 3, 1, 5' '-9.223372036854776e+18 nan 1 5'
missing uint64 'v:missing_value = -1. ;' '18446744073709551615, 3, 1, 5' '1.8446744073709552e+19 3 1 5'
missing uint64 'v:missing_value = 3 ;' '7, 3, 1, 5' '7 nan 1 5'
missing float 'v:missing_value = 1e300 ;' 'Infinity, 3, 1, 5' 'inf 3 1 5'
missing float 'v:missing_value = Infinity, 0.1 ;' 'Infinity, 0.1, 1, 5' 'nan nan 1 5'
missing float 'v:missing_value = 3 ;' '7, 3, 1, 5' '7 nan 1 5'
bad 2 'printf "1\n" | tally scan sum --dtype f32 --init 1e39 --format text -' "tally: --init is '1e39', which is not a value of f32, the output of sum"
ok 'printf "1\n" | tally scan sum --dtype f32 --init inf --format text -' inf
bad 2 'printf "1\n" | tally scan sum --dtype f32 --format text - --empty -1e39 -o o.nc' "tally: --empty is '-1e39': must be a f32, the value that stands for none in o.nc"

# ---- a variable that has the name of a dimension, and not that dimension ----
for kind in classic netCDF-4; do
    make m.nc $kind 'dimensions: t = 3 ; u = 2 ; variables: double t(u) ; double v(t) ; data: t = 5, 1 ; v = 1, 2, 3 ;'
    line 'scan last --variable t m.nc' '5 1'
    line 'reduce sum --variable v m.nc' 6
done

# ---- _Unsigned ----
for word in true True TRUE 'true '; do
    missing byte "v:_Unsigned = \"$word\" ; v:missing_value = -2b ;" '1, -1, -128, -2' '1 255 128 nan'
    make m.nc netCDF-4 "dimensions: t = 3 ; variables: byte v(t) ; string v:_Unsigned = \"$word\" ; data: v = 1, -1, -128 ;"
    line 'scan last m.nc' '1 255 128'
done
make m.nc netCDF-4 'dimensions: t = 3 ; variables: ubyte v(t) ; v:_Unsigned = "False" ; data: v = 1, 255, 128 ;'
line 'scan last m.nc' '1 -1 -128'
make m.nc classic 'dimensions: t = 3 ; variables: byte v(t) ; v:_Unsigned = "maybe" ; data: v = 1, -1, -128 ;'
bad 1 'tally scan last m.nc' 'tally: m.nc: v(t 3): the attribute _Unsigned is neither true nor false'

# ---- files that are shorter than their header says, byte by byte: the sum of all, or an error. One variable that has records
# has no padding between them; of two each is padded ----
make all.nc classic 'dimensions: t = UNLIMITED ; s = 3 ; variables: short v(t, s) ; data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9 ;'
size=$(stat -c %s all.nc) # the last record ends the file
bad 1 "head -c $((size - 1)) all.nc >cut.nc; tally reduce sum cut.nc" "tally: cut.nc: is too short: v(t 3, s 3) ends at byte $size, and it has $((size - 1)) bytes"
ok 'tally reduce sum all.nc' 45
make two.nc 64-bit-offset 'dimensions: t = UNLIMITED ; s = 3 ; variables: short u(t, s), v(t, s) ; data: u = 1, 2, 3, 4, 5, 6 ; v = 1, 2, 3, 4, 5, 6 ;'
size=$(stat -c %s two.nc)
ok "head -c $((size - 2)) two.nc >cut.nc; tally reduce sum --variable v cut.nc" 21
bad 1 "head -c $((size - 3)) two.nc >cut.nc; tally reduce sum --variable v cut.nc" "tally: cut.nc: is too short: v(t 2, s 3) ends at byte $((size - 2)), and it has $((size - 3)) bytes"
ok "tally reduce sum --variable u cut.nc" 21
python3 - <<'END2'
import struct
def name(s): return struct.pack('>i', len(s)) + s.encode() + b'\0' * (-len(s) % 4)
def cdf(version, ndims, length, tail):
    c = '>q' if version == 5 else '>i'
    word, none = lambda n: struct.pack(c, n), struct.pack('>i', 0) + struct.pack(c, 0)
    n = lambda s: word(len(s)) + s.encode() + b'\0' * (-len(s) % 4)
    out = b'CDF' + bytes([version]) + word(0) + struct.pack('>i', 10) + word(1) + n('d') + word(length) + none
    out += struct.pack('>i', 11) + word(1) + n('v') + word(ndims) + word(0) * ndims + none + struct.pack('>i', 6) + word(8)
    at = len(out) + (4 if version == 1 else 8)
    return out + struct.pack('>i' if version == 1 else '>q', at) + tail
data = struct.pack('>d', 1.5)
for ndims in (8, 9, 1024, 1025, 3000, 100000): open('dims%d.nc' % ndims, 'wb').write(cdf(1, ndims, 1, data))
open('huge.nc', 'wb').write(cdf(5, 1, 1 << 62, data))
open('large.nc', 'wb').write(cdf(2, 1, 1 << 30, data))
good = cdf(1, 1, 1, data)
open('good.nc', 'wb').write(good)
open('dims.nc', 'wb').write(good[:12] + struct.pack('>i', 0x7f000001) + good[16:])
open('name.nc', 'wb').write(good[:16] + struct.pack('>i', 0x7fffffff) + good[20:])
open('dimid.nc', 'wb').write(good.replace(b'v\0\0\0' + struct.pack('>ii', 1, 0), b'v\0\0\0' + struct.pack('>ii', 1, 7)))
open('stream.nc', 'wb').write(good[:4] + b'\xff\xff\xff\xff' + good[8:])
open('seven.nc', 'wb').write(b'CDF\7' + good[4:])
open('begin.nc', 'wb').write(good[:-12] + struct.pack('>i', 4) + data)
END2
ok 'tally reduce sum good.nc' 1.5
ok 'tally reduce sum dims8.nc' 1.5
bad 2 'tally reduce sum dims9.nc' 'tally: dims9.nc: v has 9 dimensions: at most 8'
bad 2 'tally reduce sum dims1024.nc' 'tally: dims1024.nc: v has 1024 dimensions: at most 8'
for n in 1025 3000 100000; do
    bad 1 "tally reduce sum dims$n.nc" "tally: dims$n.nc: is no NetCDF file: a variable in its header has $n dimensions: must be at most 1024"
done
bad 1 'tally reduce sum huge.nc' 'tally: huge.nc: is no NetCDF file: a variable in its header has 2^63 bytes or more'
bad 1 'tally reduce sum large.nc' 'tally: large.nc: is too short: v(d 1073741824) ends at byte 8589934676, and it has 92 bytes'
bad 1 'tally reduce sum dims.nc' 'tally: dims.nc: is no NetCDF file: its header promises 2130706433 dimensions, more than a file of 88 bytes holds'
bad 1 'tally reduce sum name.nc' 'tally: name.nc: is no NetCDF file: a name in its header has 2147483647 bytes: must be 1..256'
bad 1 'tally reduce sum dimid.nc' 'tally: dimid.nc: is no NetCDF file: a variable in its header has dimension 7 of 1'
bad 1 'tally reduce sum stream.nc' 'tally: stream.nc: is no NetCDF file: its number of records is not in its header: its writer did not close it'
bad 1 'tally reduce sum seven.nc' 'tally: seven.nc: is no NetCDF file: its version is 7: must be 1, 2 or 5'
bad 1 'tally reduce sum begin.nc' 'tally: begin.nc: is no NetCDF file: a variable begins at byte 4, within the header of 80 bytes'
bad 1 ': >empty.nc; tally reduce sum empty.nc' 'tally: empty.nc: is empty: it has 0 bytes'
bad 1 'tally reduce sum --axis d --variable v good.nc empty.nc' 'tally: empty.nc: is empty: it has 0 bytes'

# ---- groups are listed beside the variables ----
make inside.nc netCDF-4 'dimensions: x = 1 ; group: g { variables: float v(x) ; } group: h { variables: float w(x) ; }'
bad 2 'tally reduce sum inside.nc' 'tally: inside.nc: 0 variables are fields of numbers; there are group /g, group /h'
bad 2 'tally reduce sum --variable v inside.nc' "tally: inside.nc: no variable 'v'; the variables are group /g, group /h"

# ---- a dimension of a group that hides another one: no coordinate of that one ----
for length in 1000 5; do
    make shadow.nc netCDF-4 "dimensions: x = $length ; variables: double x(x) ; group: g { dimensions: x = 5 ; y = 3 ; variables: float v(y, x) ;
 data: v = 0,1,2,3,4, 5,6,7,8,9, 10,11,12,13,14 ; }"
    for end in nc nc4 h5; do
        ok "tally reduce sum --variable g/v --axis y shadow.nc -o o.$end && ncdump -n o o.$end | paste -sd' ' | tr -s ' \\t' ' ' | sed 's, // global attributes: .* data:, data:,'" 'netcdf o { dimensions: x = 5 ; variables: float v_sum(x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:cell_methods = "y: sum" ; data: v_sum = 15, 18, 21, 24, 27 ; }'
    done
done

# ---- joined along the dimension of --axis, whichever it is ----
stations() { make "$1" "$2" "dimensions: station = 3 ; time = $3 ; variables: float w(station, time) ; int time(time) ; data: time = $4 ; w = $5 ;"; }
stations s0.nc classic 4 '0, 1, 2, 3' '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11'
stations s1.nc netCDF-4 2 '4, 5' '100, 101, 104, 105, 108, 109'
line 'reduce sum,last --variable w --axis time --to csv s0.nc s1.nc' 'sum,last 207,101 231,105 255,109'
line 'scan last --variable w --axis time --to csv s0.nc s1.nc | tail -n +2' '0,1,2,3,100,101 4,5,6,7,104,105 8,9,10,11,108,109'
line 'window sum --variable w --axis time --by time --last 2 --to csv s0.nc s1.nc | tail -n +2' '0,1,3,5,103,201 4,9,11,13,111,209 8,17,19,21,119,217'
data 'scan last --variable w --axis time s0.nc s1.nc' 'netcdf o { dimensions: station = 3 ; time = 6 ; variables: float w_last(station, time) ; w_last:_FillValue = NaNf ; w_last:long_name = "last of w" ; int time(time) ; data: w_last = 0, 1, 2, 3, 100, 101, 4, 5, 6, 7, 104, 105, 8, 9, 10, 11, 108, 109 ; time = 0, 1, 2, 3, 4, 5 ; }'
bad 2 'tally reduce sum --variable w --axis lat s0.nc s1.nc' "tally: s0.nc: w(station 3, time 4) has no dimension 'lat', along which files could be joined"
go_on='files that are joined must go on'
bad 1 'tally reduce sum --variable w --axis time s1.nc s0.nc' "tally: s0.nc: time begins at 0, and s1.nc, which comes before, ends at 5: $go_on ascending"
bad 1 'tally reduce sum --variable w --axis time s0.nc s0.nc' "tally: s0.nc: time begins at 0, and s0.nc, which comes before, ends at 3: $go_on ascending"
stations s2.nc classic 2 '3, 4' '1, 2, 3, 4, 5, 6'
bad 1 'tally scan sum --variable w --axis time s0.nc s2.nc' "tally: s2.nc: time begins at 3, and s0.nc, which comes before, ends at 3: $go_on ascending"
stations s3.nc classic 2 '-1, -2' '1, 2, 3, 4, 5, 6'
stations s4.nc classic 1 '-3' '1, 2, 3'
line 'reduce sum --variable w --axis time s3.nc s4.nc' '4 9 14'
stations s5.nc classic 2 '9, 8' '1, 2, 3, 4, 5, 6'
bad 1 'tally reduce sum --variable w --axis time s0.nc s5.nc' 'tally: s5.nc: time goes from 9 to 8, and the files that are joined with it are ascending'
bad 1 'tally reduce sum --variable w --axis time s3.nc s0.nc' "tally: s0.nc: time begins at 0, and s3.nc, which comes before, ends at -2: $go_on descending"
bad 1 'tally reduce sum --variable w --axis station s3.nc s2.nc' 'tally: s2.nc: time begins at 3, and in s3.nc -1: files that are joined along station must have the same time'

# ---- many small chunks: the bits of the same numbers as text, and little memory (HDF5 takes 6.5 KB for each chunk of a call) ----
chunks() { # FILE ROWS CHUNKS
    awk -v n="$2" -v c="$3" 'BEGIN { print "netcdf f { dimensions: t = " n " ; y = 60 ; x = 4 ; variables: float v(t, y, x) ; v:_Storage = \"chunked\" ; v:_ChunkSizes = " c " ; data: v ="
        for (i = 0; i < n * 240; i++) printf "%s%.4f\n", (i ? "," : ""), (i * 7919 % 10007) / 7; print "; }" }' >f.cdl
    ncgen -k netCDF-4 -o "$1" f.cdl || exit 1
}
awk 'BEGIN { for (i = 0; i < 90 * 240; i++) printf "%.4f\n", (i * 7919 % 10007) / 7 }' >chunks.txt
for axis in 0 1 2; do tally reduce sum --dtype f32 --hex --shape 90x60x4 --axis $axis chunks.txt >want.$axis; done
tally scan sum --dtype f32 --hex --digest chunks.txt >want.scan
for shape in 2,1,2 90,1,1 1,60,1 7,1,1; do
    chunks chunks.nc 90 $shape
    for axis in 0 1 2; do
        for memory in '' '--memory 5000'; do
            same "tally reduce sum --hex --axis $axis $memory chunks.nc" "cat want.$axis"
        done
    done
    same 'tally scan sum --hex --digest chunks.nc' 'cat want.scan'
done
chunks small.nc 250 1,1,2 # 30,000 chunks, 200 MB if they were one call
if [ -z "${TALLY_SANITIZE-}" ]; then has 'python3 -c "
import resource, subprocess
subprocess.run([\"tally\", \"reduce\", \"sum\", \"--axis\", \"0\", \"--threads\", \"1\", \"small.nc\"], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 130000)"' True; fi

# ---- keys that are called like the operator ----
make keys.nc classic 'dimensions: time = 3 ; x = 2 ; variables: int sum(time), sum_result(time) ; float v(time, x) ; data: v = 1, 2, 3, 4, 5, 6 ; sum = 4, 5, 4 ; sum_result = 1, 1, 1 ;'
data 'reduce sum --variable v --axis time --by sum keys.nc' 'netcdf o { dimensions: sum = 2 ; x = 2 ; variables: float v_sum(sum, x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:cell_methods = "time: sum" ; int sum(sum) ; data: v_sum = 6, 8, 3, 4 ; sum = 4, 5 ; }'
data 'reduce sum --variable v --axis time --by sum,sum_result keys.nc' 'netcdf o { dimensions: group = 2 ; x = 2 ; variables: float v_sum(group, x) ; v_sum:_FillValue = NaNf ; v_sum:long_name = "sum of v" ; v_sum:cell_methods = "time: sum" ; v_sum:coordinates = "sum sum_result" ; int sum(group) ; int sum_result(group) ; data: v_sum = 6, 8, 3, 4 ; sum = 4, 5 ; sum_result = 1, 1 ; }'
data 'reduce max --variable v --axis time --by sum keys.nc' 'netcdf o { dimensions: sum = 2 ; x = 2 ; variables: float v_max(sum, x) ; v_max:_FillValue = NaNf ; v_max:long_name = "max of v" ; v_max:cell_methods = "time: maximum" ; int sum(sum) ; data: v_max = 5, 6, 3, 4 ; sum = 4, 5 ; }'

# ---- the results of a fragment of many sequences ----
ok "seq 24 | tally fragment make sum - --shape 4x6 --axis 0 -o f.frag && tally fragment result f.frag -o f.nc && tally reduce sum,count f.nc --to csv" $'sum,count\n300,6'

# ---- what holds no numbers ----
make types.nc netCDF-4 'types: byte enum bool { FALSE = 0, TRUE = 1 } ; compound pair { int a ; float b ; } ; int(*) rows ; opaque(4) raw ;
 dimensions: x = 2 ; variables: bool flag(x) ; pair p(x) ; rows r(x) ; raw o(x) ; string s(x) ; char c(x) ;
 data: flag = TRUE, FALSE ; p = {1, 2}, {3, 4} ; r = {1}, {1, 2} ; o = 0x01020304, 0x05060708 ; s = "a", "b" ; c = "ab" ;'
while IFS=: read -r v what; do bad 2 "tally reduce sum --variable $v types.nc" "tally: types.nc: $v(x 2) has $what, not numbers"; done <<'END2'
flag:values of an enumeration (h5py writes booleans so)
p:values of a compound type, which has several fields
r:rows that differ in length
o:opaque bytes
s:strings
c:characters
END2
finish
