// The check on a GPU (see repeated.h), 16 bytes at a time, as fast as its memory. The buffer, which
// may begin anywhere, begins `head` bytes after `words`; the tile is what belongs at `words`, and
// comes again after `tile_words`.
constexpr unsigned word_bytes = 16;

__device__ bool is_within(unsigned long long place, unsigned head, unsigned long long bytes) {
    return place >= head && place < head + bytes;
}

// Whether the buffer has all of this word.
__device__ bool is_whole(unsigned word, unsigned head, unsigned long long bytes) {
    const unsigned long long place = static_cast<unsigned long long>(word) * word_bytes;
    return is_within(place, head, bytes) && is_within(place + word_bytes - 1, head, bytes);
}

extern "C" __global__ void distgpu_fill(uint4* words, unsigned head, unsigned long long bytes,
                                        const uint4* tile, unsigned tile_words) {
    const unsigned count = static_cast<unsigned>((head + bytes + word_bytes - 1) / word_bytes);
    const unsigned threads = gridDim.x * blockDim.x;
    for (unsigned word = blockIdx.x * blockDim.x + threadIdx.x; word < count; word += threads) {
        const uint4 right = tile[word % tile_words];
        if (is_whole(word, head, bytes)) {
            words[word] = right;
            continue;
        }
        for (unsigned byte = 0; byte < word_bytes; ++byte) {
            const unsigned long long place = 1ULL * word * word_bytes + byte;
            if (!is_within(place, head, bytes)) continue;
            reinterpret_cast<unsigned char*>(words)[place] =
                reinterpret_cast<const unsigned char*>(&right)[byte];
        }
    }
}

// Lowers `first` to the place in the buffer of the first byte that differs.
extern "C" __global__ void distgpu_compare(const uint4* words, unsigned head,
                                           unsigned long long bytes, const uint4* tile,
                                           unsigned tile_words, unsigned long long* first) {
    const unsigned count = static_cast<unsigned>((head + bytes + word_bytes - 1) / word_bytes);
    const unsigned threads = gridDim.x * blockDim.x;
    for (unsigned word = blockIdx.x * blockDim.x + threadIdx.x; word < count; word += threads) {
        const uint4 right = tile[word % tile_words];
        if (is_whole(word, head, bytes)) {
            const uint4 got = words[word];
            if (got.x == right.x && got.y == right.y && got.z == right.z && got.w == right.w) {
                continue;
            }
        }
        for (unsigned byte = 0; byte < word_bytes; ++byte) {
            const unsigned long long place = 1ULL * word * word_bytes + byte;
            if (!is_within(place, head, bytes)) continue;
            if (reinterpret_cast<const unsigned char*>(words)[place] ==
                reinterpret_cast<const unsigned char*>(&right)[byte]) {
                continue;
            }
            atomicMin(first, place - head);
            return;  // what this thread would see later lies behind
        }
    }
}
