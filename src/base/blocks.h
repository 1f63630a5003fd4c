#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

/// Allocates memory for pools, 64-byte aligned, not initialised; null if there is none. Large
/// blocks come straight from the system and go back to it, in huge pages as far as they fit. The
/// heap would retain freed blocks, in as many arenas as there are threads, and more of it the
/// larger the blocks are.
uint8_t* allocate_block(size_t bytes);
/// `bytes` is the size that was allocated.
void free_block(void* block, size_t bytes);

/// The same from the heap, for blocks of any size.
uint8_t* allocate_on_heap(size_t bytes);
void free_on_heap(void* block);

}  // namespace forebay
