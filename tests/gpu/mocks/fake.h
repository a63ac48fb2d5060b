// What the stand-in for NCCL asks of the stand-in for CUDA.
#ifndef FAKE_H
#define FAKE_H

extern int fake_cuda_device;  // the number of the GPU whose context is current

// Puts work on a stream: so many milliseconds.
void fake_cuda_put(void* stream, double milliseconds);

// From now on the work of the stream never ends.
void fake_cuda_hang(void* stream);

// Whether a stream has work for which nobody has waited.
int fake_cuda_is_busy(void);

#endif
