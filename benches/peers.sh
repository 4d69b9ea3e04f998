#!/bin/sh
# How long dmadbg takes over an image beside what people use to look at one today, on this machine
# and in this run, and beside a plain read of the file. Tools that are not installed are left out.
#
#   benches/peers.sh [MIB] [PATH OF dmadbg]
#
# Times are the best of RUNS (3) by the clock, output to /dev/null.
set -eu

mib=${1:-64}
dmadbg=${2:-target/release/dmadbg}
runs=${RUNS:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
image=$dir/image.tx.bin

# A Tx ring of copies of a page each. (Of both rings of a legal size `check` also makes a run.)
one='\000\020\000\015\003\000\010\001\000\000\000\020\000\100\000\000\000\020\000\015\003\000\010\001\000\020\000\020\000\100\000\000'
i=0
while [ "$i" -lt 2048 ]; do printf "$one"; i=$((i + 1)); done > "$dir/block"
i=0
while [ "$i" -lt 16 ]; do cat "$dir/block"; i=$((i + 1)); done > "$dir/mib"
i=0
while [ "$i" -lt "$mib" ]; do cat "$dir/mib"; i=$((i + 1)); done > "$image"

now() { date +%s%N; }

# The best of the runs, in nanoseconds.
best() {
    least=
    n=0
    while [ "$n" -lt "$runs" ]; do
        begin=$(now)
        "$@" > /dev/null 2>&1 || true
        took=$(($(now) - begin))
        if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
        n=$((n + 1))
    done
    echo "$least"
}

# What is measured, its command.
row() {
    what=$1
    shift
    if ! command -v "$1" > /dev/null 2>&1; then
        printf '%-44s not installed\n' "$what"
        return
    fi
    ns=$(best "$@")
    awk -v what="$what" -v ns="$ns" -v mib="$mib" -v limit="$limit" 'BEGIN {
        s = ns / 1e9; slots = mib * 65536
        printf "%-44s %9.1f ms %9.1f MB/s %8.2f M slots/s %6.1f %% of reading\n",
            what, s * 1e3, mib * 1.048576 / s, slots / s / 1e6, limit / ns * 100
    }'
}

limit=$(best cat "$image")
echo "$mib MiB, $((mib * 65536)) descriptors; best of $runs"
row "read (cat)" cat "$image"
echo "every byte in hex, nothing said of its meaning:"
row "xxd" xxd "$image"
row "hexdump -C" hexdump -C "$image"
row "hexyl" hexyl "$image"
row "radare2 (px)" radare2 -q -n -c "px $((mib * 1048576))" "$image"
if command -v tshark > /dev/null 2>&1 && command -v text2pcap > /dev/null 2>&1; then
    # As packets of a slot each; the capture is made before and not counted.
    od -Ax -tx1 -v "$image" | awk '{ $1 = "000000"; print }' > "$dir/hex"
    text2pcap -q "$dir/hex" "$dir/image.pcap" > /dev/null 2>&1 || true
    row "tshark -x" tshark -r "$dir/image.pcap" -x
else
    printf '%-44s not installed\n' "tshark -x"
fi
echo "every descriptor decoded:"
row "dmadbg decode" "$dmadbg" decode "$image"
row "dmadbg decode --format json" "$dmadbg" decode --format json "$image"
row "dmadbg export --as descriptors" "$dmadbg" export --as descriptors "$image"
echo "every descriptor judged (nobody else does):"
row "dmadbg check" "$dmadbg" check "$image"
