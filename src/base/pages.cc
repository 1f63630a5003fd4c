#include "base/pages.h"

#include <sys/mman.h>

namespace forebay {

uint8_t* map_pages(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  if (bytes >= kHugePage) madvise(pages, bytes, MADV_HUGEPAGE);
  return static_cast<uint8_t*>(pages);
}

void unmap_pages(void* pages, size_t bytes) { munmap(pages, bytes); }

}  // namespace forebay
