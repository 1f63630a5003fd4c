#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

/// Memory for pools, 64-byte aligned, not initialised; null where there is none. Large blocks come straight from the system and go
/// back to it, in huge pages as far as they fit: the heap keeps what is freed, in as many places as there are threads, and the more
/// the larger the blocks are.
uint8_t* allocate_block(size_t bytes);
/// `bytes`: as allocated.
void free_block(void* block, size_t bytes);

/// The same from the heap, whatever its size.
uint8_t* allocate_on_heap(size_t bytes);
void free_on_heap(void* block);

}  // namespace forebay
