#!/usr/bin/env bash
# Captures what a real Linux kernel says about a machine that we put together in QEMU, into dumps/.
#
#   apt-get install --no-install-recommends qemu-system-x86 busybox-static pciutils kmod cpio
#   apt-get download linux-image-6.1.0-56-amd64        (any Debian kernel package)
#   tests/python/machine/capture_qemu.sh linux-image-*.deb tests/python/machine/dumps
#
# The machine: two NUMA nodes; on node 0 a root port with an NVMe drive of two virtual functions, one with a switch that carries two
# network cards, an NVMe drive and an empty port, one with a CXL memory device, one that is empty; on node 1 a root
# bus of its own with a root port and a network card. Boots without KVM, which takes a minute or two.
set -euo pipefail

kernel_package=$(realpath "$1")
dumps=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

dpkg-deb -x "$kernel_package" "$work/kernel"
vmlinuz=$(echo "$work"/kernel/boot/vmlinuz-*)
modules=$(echo "$work"/kernel/lib/modules/*)

# --- a root file system in memory: busybox, lspci, the drivers ---------------------------------------------------
root=$work/root
mkdir -p "$root"/{bin,etc,proc,sys,dev,tmp,modules,usr/share/misc}
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
cp /bin/busybox "$root/bin/"
cp "$(command -v lspci)" "$root/bin/"
ldd "$root/bin/lspci" | grep -o '/[^ )]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp "$library" "$root$library"
done
cp /usr/share/misc/pci.ids "$root/usr/share/misc/"
# In the order in which they must be loaded.
version=${modules##*/}
depmod -b "$work/kernel" "$version"
for module in nvme e1000e virtio_pci virtio_net cxl_pci; do
    modprobe -d "$work/kernel" -S "$version" --show-depends "$module" | sed -n 's/^insmod //p'
done | awk '!seen[$1]++ { print $1 }' | while read -r file; do
    cp "$file" "$root/modules/"
    echo "${file##*/}" >>"$root/modules/order"
done

cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read -r file; do insmod "/modules/$file"; done </modules/order
sleep 5
mkdir -p /tmp/out
lspci -vvv >/tmp/out/qemu.vvv 2>/dev/null
lspci -nnDvvv >/tmp/out/qemu.nnDvvv 2>/dev/null
lspci -PP -vvv >/tmp/out/qemu.PP.vvv 2>/dev/null
lspci -xxxx >/tmp/out/qemu.xxxx 2>/dev/null
lspci -vvvxxxx >/tmp/out/qemu.vvvxxxx 2>/dev/null
lspci -tv >/tmp/out/qemu.tv 2>/dev/null
lspci -t >/tmp/out/qemu.t 2>/dev/null
lspci >/tmp/out/qemu.txt 2>/dev/null
lspci -mm >/tmp/out/qemu.mm 2>/dev/null
lspci -Dmmnn >/tmp/out/qemu.Dmmnn 2>/dev/null
lspci -vmm >/tmp/out/qemu.vmm 2>/dev/null
lspci -Dvmmnnk >/tmp/out/qemu.Dvmmnnk 2>/dev/null
lspci -nnk >/tmp/out/qemu.nnk 2>/dev/null
# An ordinary user sees 64 bytes of configuration space and no capabilities.
chmod 755 /; chmod 1777 /tmp
su nobody -s /bin/sh -c 'lspci -vvv' >/tmp/out/qemu.user.vvv 2>/dev/null

# Files of sysfs claim 4096 bytes and hold fewer, so they are copied one by one rather than archived.
copy_sysfs() {
    copy=/tmp/sysfs-$1
    find /sys/devices/pci* /sys/devices/system/node | while read -r path; do
        if [ -L "$path" ]; then
            case "${path##*/}" in driver|iommu_group|physfn|subsystem) ;; *) continue ;; esac
            mkdir -p "$copy${path%/*}"; ln -s "$(readlink "$path")" "$copy$path"
        elif [ -d "$path" ]; then
            case "$path" in */power|*/msi_irqs|*/link|*/queues/*|*/statistics) continue ;; esac
        else
            case "${path##*/}" in
            class|vendor|device|subsystem_vendor|subsystem_device|revision|config|resource|numa_node|local_cpulist|\
            current_link_*|max_link_*|secondary_bus_number|subordinate_bus_number|aer_*|sriov_*|enable|power_state|\
            cpulist|ifindex|address|model)
                mkdir -p "$copy${path%/*}"; cat "$path" >"$copy$path" 2>/dev/null ;;
            esac
        fi
    done
    mkdir -p "$copy/sys/bus/pci/devices"
    for link in /sys/bus/pci/devices/*; do ln -s "$(readlink "$link")" "$copy$link"; done
    for slot in /sys/bus/pci/slots/*; do
        mkdir -p "$copy$slot"; cat "$slot/address" >"$copy$slot/address"
    done
    mkdir -p "$copy/proc/sys/kernel"; echo qemu >"$copy/proc/sys/kernel/hostname"
    tar czf "/tmp/out/$1.sysfs.tar.gz" -C "$copy" .
}
copy_sysfs qemu
# The same machine with the virtual functions of the drive switched on.
for file in /sys/bus/pci/devices/*/sriov_numvfs; do
    [ "$(cat "${file%numvfs}totalvfs")" = 0 ] || echo 2 >"$file"
done
sleep 3
lspci -vvv >/tmp/out/qemu-vfs.vvv 2>/dev/null
lspci -s 1: -xxxx >/tmp/out/qemu-vfs.xxxx 2>/dev/null
copy_sysfs qemu-vfs
echo BEGIN >/dev/ttyS1
tar cz -C /tmp/out . | base64 >/dev/ttyS1
echo END >/dev/ttyS1
sleep 2
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd.gz"

# --- the machine --------------------------------------------------------------------------------------------------
for drive in 0 1; do truncate -s 16M "$work/nvme$drive.raw"; done
truncate -s 256M "$work/cxl.raw"
sriov=sriov_vq_flexible=4,sriov_vi_flexible=2,max_ioqpairs=8,msix_qsize=9
timeout 900 qemu-system-x86_64 -machine q35,cxl=on -accel tcg -cpu max -smp 2 -m 1G -nodefaults -display none \
    -object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
    -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 \
    -kernel "$vmlinuz" -initrd "$work/initrd.gz" -append "console=ttyS0 quiet panic=1 pcie_ports=native" \
    -serial "file:$work/console" -serial "file:$work/out" -no-reboot \
    -drive "if=none,id=d0,format=raw,file=$work/nvme0.raw" -drive "if=none,id=d1,format=raw,file=$work/nvme1.raw" \
    -device pcie-root-port,id=rp0,hotplug=off,slot=1,chassis=1,x-speed=16,x-width=4 \
    -device nvme-subsys,id=subsys0 \
    -device "nvme,bus=rp0,serial=one,subsys=subsys0,sriov_max_vfs=2,$sriov" \
    -device nvme-ns,drive=d0,nsid=1 \
    -device pcie-root-port,id=rp1,hotplug=off,slot=2,chassis=1,x-speed=8,x-width=16 \
    -device x3130-upstream,id=up0,bus=rp1 \
    -device xio3130-downstream,id=dn0,hotplug=off,bus=up0,slot=10,chassis=2 \
    -device xio3130-downstream,id=dn1,hotplug=off,bus=up0,slot=11,chassis=2 \
    -device xio3130-downstream,id=dn2,hotplug=off,bus=up0,slot=12,chassis=2 \
    -device xio3130-downstream,id=dn3,bus=up0,slot=13,chassis=2 \
    -device e1000e,bus=dn0 -device virtio-net-pci,bus=dn1 -device nvme,bus=dn2,serial=two,drive=d1 \
    -device pcie-root-port,id=rp2,slot=3,chassis=1,x-speed=16,x-width=16 \
    -device pxb-pcie,id=far,bus_nr=128,numa_node=1,bus=pcie.0 \
    -device pcie-root-port,id=rp3,hotplug=off,bus=far,slot=4,chassis=3,x-speed=5,x-width=8 \
    -device e1000e,bus=rp3 \
    -device pxb-cxl,id=cxl0,bus_nr=192,numa_node=1,bus=pcie.0 \
    -device cxl-rp,id=rp4,hotplug=off,bus=cxl0,slot=5,chassis=4 \
    -object "memory-backend-file,id=cxlmem,share=on,mem-path=$work/cxl.raw,size=256M" \
    -object "memory-backend-ram,id=lsa,share=on,size=1M" \
    -device cxl-type3,bus=rp4,memdev=cxlmem,lsa=lsa,id=mem0 \
    || { cat "$work/console" >&2; exit 1; }

grep -v '^\[' "$work/console" >&2 || true
mkdir -p "$dumps"
if ! sed -n '/^BEGIN/,/^END/p' "$work/out" | tr -d '\r' | grep -v -e BEGIN -e END | base64 -d | tar xz -C "$dumps"; then
    tail -n 40 "$work/console" >&2
    exit 1
fi
ls -l "$dumps"
