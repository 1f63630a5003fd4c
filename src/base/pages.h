#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

/// Memory straight from the system, for blocks that are large and come and go: the heap would keep what is freed, in as many places
/// as there are threads, and the more the larger the blocks were. Whole pages, not initialised (zero). Null where there is none.
uint8_t* map_pages(size_t bytes);
void unmap_pages(void* pages, size_t bytes);

}  // namespace forebay
