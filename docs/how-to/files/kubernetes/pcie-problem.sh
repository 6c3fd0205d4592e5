#!/bin/sh
# A plugin of node-problem-detector: exit status 0 is OK, 1 a problem, all others unknown, which is how
# `lanewise doctor` ends, too. The first bytes on stdout become the message of the node's condition.
# LANEWISE and PYTHON name the programs; arguments go to `lanewise doctor`.
found=$("${LANEWISE:-lanewise}" doctor --no-cost --json "$@")
status=$?
printf '%s' "$found" | "${PYTHON:-python3}" -c '
import json, sys

text = sys.stdin.read()
findings = json.loads(text).get("findings", []) if text else []
loud = [f["title"] for f in findings if f["severity"] != "info" and "waived" not in f]
ok = "PCI Express is as it should be"
could_not = "the check could not be made; the log of node-problem-detector says why"
status = int(sys.argv[1])
print("; ".join(loud) if status == 1 else ok if status == 0 else could_not)
' "$status"
exit "$status"
