// Copies between pinned host memory and each GPU, one way at a time, and prints a table like that of CUDA's bandwidthTest,
// which `lanewise import` reads. Sizes from 64 B to 256 MiB; GB/s are decimal; the fastest of five rounds counts.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
        exit(2);
    }
}

static double copy_gb_per_s(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    int repeats = bytes < (1u << 20) ? 200 : 20;
    double best = 0;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    for (int round = 0; round < 5; ++round) {
        check(cudaEventRecord(begin), "record");
        for (int i = 0; i < repeats; ++i) check(cudaMemcpyAsync(to, from, bytes, kind), "copy");
        check(cudaEventRecord(end), "record");
        check(cudaEventSynchronize(end), "wait");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin, end), "time");
        double rate = 1e-6 * double(bytes) * repeats / milliseconds;
        if (rate > best) best = rate;
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return best;
}

int main() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cannot count the GPUs");
    const size_t most = size_t(256) << 20;
    printf("[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n");
    for (int device = 0; device < count; ++device) {
        check(cudaSetDevice(device), "device");
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, device), "properties");
        void *host = nullptr, *memory = nullptr;
        check(cudaMallocHost(&host, most), "host memory");
        check(cudaMalloc(&memory, most), "device memory");
        printf(" Device %d: %s\n", device, properties.name);
        const char* words[2] = {"Host to Device", "Device to Host"};
        for (int way = 0; way < 2; ++way) {
            printf("\n %s Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n", words[way]);
            printf("   Transfer Size (Bytes)\tBandwidth(GB/s)\n");
            for (size_t bytes = 64; bytes <= most; bytes *= 4) {
                double rate = way == 0 ? copy_gb_per_s(memory, host, bytes, cudaMemcpyHostToDevice)
                                       : copy_gb_per_s(host, memory, bytes, cudaMemcpyDeviceToHost);
                printf("   %zu\t\t\t%.3f\n", bytes, rate);
            }
        }
        printf("\nResult = PASS\n\n");
        cudaFree(memory);
        cudaFreeHost(host);
    }
    return 0;
}
