// What the stand-in for NCCL asks of the stand-in for CUDA.
#ifndef FAKE_H
#define FAKE_H

// The number of the GPU whose context is current.
int fake_cuda_device(void);

// Puts work of a collective on a stream: so many milliseconds.
void fake_cuda_collective(void* stream, double milliseconds);

// From now on the work of the stream never ends.
void fake_cuda_hang(void* stream);

// How many graphs have not been destroyed.
int fake_cuda_graphs(void);

// Whether a stream has work for which nobody has waited.
int fake_cuda_is_busy(void);

#endif
