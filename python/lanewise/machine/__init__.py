"""Real machines: what `lspci`, sysfs, hwloc, NCCL and `nvidia-smi` say about them, as one `Machine`.

    from lanewise.machine import read

    machine = read("lspci.txt")
    for link in machine.links:
        print(link.name, link.now, link.limit)

Reading imports nothing but the standard library, so that `lanewise scan` starts at once.
"""
