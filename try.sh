# usage: try.sh file [with...]
f=$1; shift; w=(); for x in "$@"; do w+=(--with $x); done
/work/wt/misses/.venv/bin/lanewise doctor "$f" "${w[@]}" --no-cost 2>&1 | grep -v "^ *$" | head -${N:-14}; echo "rc ${PIPESTATUS[0]}"
