#include "serve/memory/shared_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kAlignment = 64, kSlabPage = 4096;

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
size_t block_bytes(size_t bytes) { return rounded(bytes == 0 ? 1 : bytes, kAlignment); }

Status no_slab(size_t bytes, const char* what) {
  return out_of_budget(
      fmt::format("{} bytes of memory that clients can map: {}: {}; raise the limit of memory or of open files", bytes,
                  what, std::strerror(errno)),
      bytes);
}

}  // namespace

Result<std::shared_ptr<Slab>> Slab::make(uint64_t number, size_t bytes) {
  FileDescriptor file(memfd_create("forebay-batches", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return no_slab(bytes, "memfd_create");
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return no_slab(bytes, "mmap");
  std::shared_ptr<Slab> slab(new Slab(number, std::move(file), static_cast<uint8_t*>(data), bytes));
  madvise(data, bytes, MADV_HUGEPAGE);
  // After this no process can create another writable mapping, however it obtains the file.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (fcntl(slab->descriptor(), F_ADD_SEALS, kSeals) != 0)
    return unsupported("this kernel cannot seal shared memory against writing (Linux 5.1 can); use share=None");
  return slab;
}

Slab::~Slab() { munmap(data_, bytes_); }

void IdleSlabs::add(std::shared_ptr<const Slab> slab) {
  bytes_ += slab->bytes();
  slabs_.push_back(std::move(slab));
}

std::shared_ptr<const Slab> IdleSlabs::take(size_t bytes) {
  const auto found = std::ranges::find_if(
      slabs_, [&](const auto& slab) { return slab->bytes() >= bytes && slab->bytes() - bytes <= slab->bytes() / 8; });
  if (found == slabs_.end()) return nullptr;
  std::shared_ptr<const Slab> slab = std::move(*found);
  slabs_.erase(found);
  bytes_ -= slab->bytes();
  return slab;
}

void IdleSlabs::trim(uint64_t most_bytes, std::vector<std::shared_ptr<const Slab>>& freed) {
  while (bytes_ > most_bytes) {
    bytes_ -= slabs_.front()->bytes();
    freed.push_back(std::move(slabs_.front()));
    slabs_.erase(slabs_.begin());
  }
}

SharedBlocks::SlabUse* SharedBlocks::add_slab(size_t bytes) {
  Result<std::shared_ptr<Slab>> slab = Slab::make(next_number_, bytes);
  if (!slab.ok()) return nullptr;
  ++next_number_;
  used_bytes_ += bytes;
  SlabUse& use = slabs_[(*slab)->data()];
  use.slab = std::move(*slab);
  return &use;
}

std::optional<size_t> SharedBlocks::take_free_part(SlabUse& use, size_t bytes) {
  for (auto part = use.free.begin(); part != use.free.end(); ++part) {
    const auto [offset, length] = *part;
    if (length < bytes) continue;
    use.free.erase(part);
    if (length > bytes) use.free.emplace(offset + bytes, length - bytes);
    return offset;
  }
  return std::nullopt;
}

uint8_t* SharedBlocks::reuse_idle(size_t bytes) {
  std::shared_ptr<const Slab> slab = idle_.take(bytes);
  if (!slab) return nullptr;
  uint8_t* const data = slab->data();
  used_bytes_ += slab->bytes();
  slabs_[data] = {std::move(slab), {}, true};
  return data;
}

uint8_t* SharedBlocks::allocate(size_t bytes) {
  const Lock lock(mutex_);
  if (bytes >= kOwnSlab) {
    if (uint8_t* const again = reuse_idle(rounded(bytes, kSlabPage))) return again;
    SlabUse* const use = add_slab(rounded(bytes, kSlabPage));
    if (use == nullptr) return nullptr;
    use->whole = true;
    return use->slab->data();
  }
  const size_t taken = block_bytes(bytes);
  for (auto& [begin, use] : slabs_) {
    if (use.whole) continue;
    if (const std::optional<size_t> offset = take_free_part(use, taken)) return use.slab->data() + *offset;
  }
  SlabUse* const use = add_slab(kSmallSlab);
  if (use == nullptr) return nullptr;
  use->free.emplace(0, kSmallSlab);
  return use->slab->data() + *take_free_part(*use, taken);
}

// Merges the part with its free neighbours.
void SharedBlocks::return_free_part(SlabUse& use, size_t offset, size_t bytes) {
  auto after = use.free.lower_bound(offset);
  if (after != use.free.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = use.free.erase(after);
  }
  if (after != use.free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  use.free.emplace(offset, bytes);
}

SharedBlocks::Slabs::iterator SharedBlocks::slab_of(const uint8_t* address) {
  const auto after = slabs_.upper_bound(address);
  if (after == slabs_.begin()) return slabs_.end();
  const auto found = std::prev(after);
  return address < found->first + found->second.slab->bytes() ? found : slabs_.end();
}

void SharedBlocks::free(uint8_t* block, size_t bytes) {
  std::vector<std::shared_ptr<const Slab>> freed;  // unmapped without the lock
  const Lock lock(mutex_);
  const auto found = slab_of(block);
  if (found == slabs_.end()) return;
  SlabUse& use = found->second;
  if (!use.whole) {
    return_free_part(use, static_cast<size_t>(block - use.slab->data()), block_bytes(bytes));
    // Free parts are merged, so a slab without blocks has exactly one.
    if (use.free.begin()->second < kSmallSlab) return;
  }
  used_bytes_ -= use.slab->bytes();
  if (use.whole)
    idle_.add(std::move(use.slab));
  else
    freed.push_back(std::move(use.slab));
  slabs_.erase(found);
  idle_.trim(used_bytes_ / 3, freed);
}

std::optional<SharedBlocks::Location> SharedBlocks::find(const uint8_t* address) const {
  const Lock lock(mutex_);
  const auto found = const_cast<SharedBlocks*>(this)->slab_of(address);
  if (found == slabs_.end()) return std::nullopt;
  return Location{found->second.slab, static_cast<uint64_t>(address - found->first)};
}

uint64_t SharedBlocks::bytes() const {
  const Lock lock(mutex_);
  return used_bytes_ + idle_.bytes();
}

}  // namespace forebay
