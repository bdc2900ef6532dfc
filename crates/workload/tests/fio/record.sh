#!/bin/sh
# Records what fio itself does with these job files: fio 3.33, without a device (ioengine=null).
# A line is a request of a job: what it asks, offset and bytes.
set -e
cd "$(dirname "$0")"
for job in *.fio; do
    folder=$(mktemp -d)
    for section in $(sed -n 's/^\[\(.*\)\]$/\1/p' "$job" | grep -v global); do
        (cd "$folder" && fio --section="$section" --write_iolog="$section" "$OLDPWD/$job" >/dev/null)
        awk 'NF == 5 { print $3, $4, $5 }' "$folder/$section" > "${job%.fio}.$section.log"
    done
    rm -r "$folder"
done
