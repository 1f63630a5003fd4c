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

SharedBlocks::Held* SharedBlocks::add_slab(size_t bytes) {
  Result<std::shared_ptr<Slab>> slab = Slab::make(next_number_, bytes);
  if (!slab.ok()) return nullptr;
  ++next_number_;
  lent_bytes_ += bytes;
  Held& held = slabs_[(*slab)->data()];
  held.slab = std::move(*slab);
  return &held;
}

std::optional<size_t> SharedBlocks::take(Held& held, size_t bytes) {
  for (auto part = held.free.begin(); part != held.free.end(); ++part) {
    const auto [offset, length] = *part;
    if (length < bytes) continue;
    held.free.erase(part);
    if (length > bytes) held.free.emplace(offset + bytes, length - bytes);
    return offset;
  }
  return std::nullopt;
}

// Reuses an idle slab that is large enough and at most an eighth too large.
uint8_t* SharedBlocks::use_again(size_t bytes) {
  const auto found = std::ranges::find_if(
      idle_, [&](const auto& slab) { return slab->bytes() >= bytes && slab->bytes() - bytes <= slab->bytes() / 8; });
  if (found == idle_.end()) return nullptr;
  uint8_t* const data = (*found)->data();
  idle_bytes_ -= (*found)->bytes();
  lent_bytes_ += (*found)->bytes();
  slabs_[data] = {std::move(*found), {}, true};
  idle_.erase(found);
  return data;
}

void SharedBlocks::trim(std::vector<std::shared_ptr<const Slab>>& gone) {
  while (idle_bytes_ > lent_bytes_ / 3) {
    idle_bytes_ -= idle_.front()->bytes();
    gone.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
}

uint8_t* SharedBlocks::allocate(size_t bytes) {
  const Lock lock(mutex_);
  if (bytes >= kOwnSlab) {
    if (uint8_t* const again = use_again(rounded(bytes, kSlabPage))) return again;
    Held* const held = add_slab(rounded(bytes, kSlabPage));
    if (held == nullptr) return nullptr;
    held->whole = true;
    return held->slab->data();
  }
  const size_t taken = block_bytes(bytes);
  for (auto& [begin, held] : slabs_) {
    if (held.whole) continue;
    if (const std::optional<size_t> offset = take(held, taken)) return held.slab->data() + *offset;
  }
  Held* const held = add_slab(kSmallSlab);
  if (held == nullptr) return nullptr;
  held->free.emplace(0, kSmallSlab);
  return held->slab->data() + *take(*held, taken);
}

// Merges the part with its free neighbours.
void SharedBlocks::give_back(Held& held, size_t offset, size_t bytes) {
  auto after = held.free.lower_bound(offset);
  if (after != held.free.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = held.free.erase(after);
  }
  if (after != held.free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  held.free.emplace(offset, bytes);
}

SharedBlocks::Slabs::iterator SharedBlocks::slab_of(const uint8_t* address) {
  const auto after = slabs_.upper_bound(address);
  if (after == slabs_.begin()) return slabs_.end();
  const auto found = std::prev(after);
  return address < found->first + found->second.slab->bytes() ? found : slabs_.end();
}

void SharedBlocks::free(uint8_t* block, size_t bytes) {
  std::vector<std::shared_ptr<const Slab>> gone;  // unmapped without the lock
  const Lock lock(mutex_);
  const auto found = slab_of(block);
  if (found == slabs_.end()) return;
  Held& held = found->second;
  if (!held.whole) {
    give_back(held, static_cast<size_t>(block - held.slab->data()), block_bytes(bytes));
    // Free parts are merged, so a slab without blocks has exactly one.
    if (held.free.begin()->second < kSmallSlab) return;
  }
  lent_bytes_ -= held.slab->bytes();
  idle_bytes_ += held.whole ? held.slab->bytes() : 0;
  (held.whole ? idle_ : gone).push_back(std::move(held.slab));
  slabs_.erase(found);
  trim(gone);
}

std::optional<SharedBlocks::Place> SharedBlocks::find(const uint8_t* address) const {
  const Lock lock(mutex_);
  const auto found = const_cast<SharedBlocks*>(this)->slab_of(address);
  if (found == slabs_.end()) return std::nullopt;
  return Place{found->second.slab, static_cast<uint64_t>(address - found->first)};
}

uint64_t SharedBlocks::bytes() const {
  const Lock lock(mutex_);
  return lent_bytes_ + idle_bytes_;
}

}  // namespace forebay
