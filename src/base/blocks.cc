#include "base/blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace forebay {

namespace {

constexpr size_t kAlign = 64, kMapped = size_t{1} << 20, kHugePage = size_t{2} << 20;

uint8_t* map(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<uint8_t*>(pages);
}

// Maps more than needed and trims it, so that the block starts on a huge page. One fault then fills
// a whole huge page (2 MiB).
uint8_t* map_huge(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHugePage) return nullptr;  // as in allocate_on_heap()
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t mapped = bytes + kHugePage;
  uint8_t* const begin = map(mapped);
  if (begin == nullptr) return nullptr;
  auto* aligned =
      reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage);
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  uint8_t* const end = aligned + (bytes + page - 1) / page * page;
  uint8_t* const mapped_end = begin + (mapped + page - 1) / page * page;
  if (end < mapped_end) munmap(end, static_cast<size_t>(mapped_end - end));
  // Only advice: without huge pages the block works as well, so the result does not matter.
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

}  // namespace

// Aligns by itself instead of calling aligned_alloc(). Before glibc 2.38 aligned_alloc() never
// reuses a free chunk of exactly the requested size, so a heap that retains some blocks and frees
// others grows to twice its contents. The byte before the block holds the distance to the heap's
// own block.
uint8_t* allocate_on_heap(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kAlign) return nullptr;
  auto* const memory = static_cast<uint8_t*>(std::malloc(bytes + 2 * kAlign));
  if (memory == nullptr) return nullptr;
  const size_t offset = kAlign - reinterpret_cast<uintptr_t>(memory) % kAlign;  // 1 to 64
  memory[offset - 1] = static_cast<uint8_t>(offset);
  return memory + offset;
}

void free_on_heap(void* block) {
  auto* const aligned = static_cast<uint8_t*>(block);
  if (aligned != nullptr) std::free(aligned - aligned[-1]);
}

uint8_t* allocate_block(size_t bytes) {
  if (bytes >= kHugePage) return map_huge(bytes);
  if (bytes >= kMapped) return map(bytes);
  return allocate_on_heap(bytes);
}

void free_block(void* block, size_t bytes) {
  // The size alone tells where the block came from: the bounds equal those of allocate_block().
  if (bytes < kMapped) return free_on_heap(block);
  munmap(block, bytes);
}

}  // namespace forebay
