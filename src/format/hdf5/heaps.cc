#include "format/hdf5/heaps.h"

#include <algorithm>
#include <bit>

namespace forebay {

namespace {

constexpr int kDeepestHeap = 64;
constexpr uint64_t kHeapIdKinds = 0x30, kManaged = 0x00, kHuge = 0x10, kTiny = 0x20;

size_t encoded_bytes(uint64_t limit) { return (static_cast<size_t>(std::bit_width(limit | 1)) - 1) / 8 + 1; }

}  // namespace

Result<Hdf5LocalHeap> Hdf5LocalHeap::open(Hdf5Metadata& file, uint64_t address) {
  const Hdf5Sizes sizes = file.sizes();
  FOREBAY_ASSIGN(const Buffer head, file.read(address, 8 + 2 * uint64_t{sizes.length} + sizes.address));
  Hdf5Cursor in = file.cursor(head);
  in.signature("HEAP");
  in.skip(4);
  const uint64_t length = in.length();
  in.length();
  const uint64_t data = in.address();
  if (in.failed()) return hdf5_damaged("the heap with the names of a group is missing");
  Hdf5LocalHeap heap;
  FOREBAY_ASSIGN(heap.data_, file.read(data, length));
  return heap;
}

Result<std::string> Hdf5LocalHeap::text(uint64_t offset) const {
  Hdf5Cursor in(data_.span());
  in.skip(offset);
  std::string text = in.text();
  if (in.failed()) return hdf5_damaged("a name of a group's member is not in its heap");
  return text;
}

Result<Hdf5FractalHeap> Hdf5FractalHeap::open(Hdf5Metadata& file, uint64_t address) {
  const Hdf5Sizes sizes = file.sizes();
  FOREBAY_ASSIGN(const Buffer head, file.read(address, 26 + 12 * uint64_t{sizes.length} + 3 * uint64_t{sizes.address}));
  Hdf5Cursor in = file.cursor(head);
  in.signature("FRHP");
  in.skip(1 + 2);
  const uint16_t filters = in.u16();
  in.skip(1);
  const uint32_t largest_object = in.u32();
  in.skip(2 * uint64_t{sizes.length} + 2 * uint64_t{sizes.address});
  // Statistics, which are not needed.
  in.skip(8 * uint64_t{sizes.length});
  Hdf5FractalHeap heap;
  heap.width_ = in.u16();
  heap.first_block_ = in.length();
  heap.largest_block_ = in.length();
  const uint16_t heap_bits = in.u16();
  in.skip(2);
  heap.root_ = in.address();
  heap.root_rows_ = in.u16();
  if (in.failed() || heap.width_ == 0 || !std::has_single_bit(heap.first_block_) ||
      !std::has_single_bit(heap.largest_block_) || heap.largest_block_ < heap.first_block_ || heap_bits > 64)
    return hdf5_damaged("the header of a heap");
  // III.G: filters of a heap are separate from those of data sets.
  if (filters != 0) return unsupported("a group's names are compressed; write the file again with `h5repack`");
  heap.offset_bytes_ = (size_t{heap_bits} + 7) / 8;
  // An object is in one block and no longer than the header allows. Its length takes as few bytes
  // as the smaller limit needs.
  heap.length_bytes_ = std::min(encoded_bytes(heap.largest_block_), encoded_bytes(largest_object));
  return heap;
}

Result<Buffer> Hdf5FractalHeap::get(Hdf5Metadata& file, std::span<const uint8_t> id) const {
  Hdf5Cursor in(id, file.sizes());
  const uint64_t first = in.u8(), kind = first & kHeapIdKinds;
  if (kind == kTiny) {
    Buffer bytes = Buffer::allocate((first & 0x0f) + 1);
    const std::span<const uint8_t> from = in.bytes(bytes.size());
    if (in.failed()) return hdf5_damaged("an entry of a heap is cut off");
    std::ranges::copy(from, bytes.data());
    return bytes;
  }
  if (kind == kHuge) return unsupported("an attribute or link of more than 64 KiB; store it as a data set");
  const uint64_t offset = in.number(offset_bytes_), length = in.number(length_bytes_);
  if (in.failed() || kind != kManaged) return hdf5_damaged("an entry of a heap is cut off");
  return managed(file, offset, length);
}

uint64_t Hdf5FractalHeap::row_bytes(uint64_t row) const {
  const uint64_t doubled = row == 0 ? 0 : row - 1;
  return doubled > 62 || first_block_ > (UINT64_MAX >> (doubled + 1)) / width_ ? UINT64_MAX / width_
                                                                               : first_block_ << doubled;
}

// The blocks of the first two rows have the smallest size, which doubles with each further row.
// Beyond the maximum size of data blocks, the blocks are indirect and contain blocks themselves.
Result<Buffer> Hdf5FractalHeap::managed(Hdf5Metadata& file, uint64_t offset, uint64_t length) const {
  uint64_t block = root_, block_bytes = first_block_, rows = root_rows_;
  // Rows of data blocks: two of the first size, and one for each doubling.
  const uint64_t direct_rows = static_cast<uint64_t>(std::bit_width(largest_block_) - std::bit_width(first_block_)) + 2;
  // A root without rows is a data block.
  for (int depth = 0; rows > 0; ++depth) {
    if (depth == kDeepestHeap) return hdf5_damaged("a heap leads in circles");
    uint64_t row = 0;
    for (; row < rows && offset / width_ >= row_bytes(row); ++row) offset -= row_bytes(row) * width_;
    if (row == rows) return hdf5_damaged("an entry of a heap lies outside of it");
    const uint64_t column = offset / row_bytes(row), entry_number = row * width_ + column, size = file.sizes().address;
    // The addresses follow the signature, the version, the header's address and the block's own
    // offset.
    FOREBAY_ASSIGN(const Buffer entry, file.read(block + 5 + size + offset_bytes_ + entry_number * size, size));
    block = file.cursor(entry).address();
    offset -= column * row_bytes(row);
    block_bytes = row_bytes(row);
    if (row < direct_rows) break;
    // III.G: an indirect block of that size covers as many rows, beginning again with the smallest
    // blocks.
    const int more = std::bit_width(block_bytes) - std::bit_width(first_block_ * width_) + 1;
    if (more <= 0) return hdf5_damaged("a block of a heap has no rows");
    rows = static_cast<uint64_t>(more);
  }
  if (offset > block_bytes || length > block_bytes - offset || block == kHdf5NoAddress)
    return hdf5_damaged("an entry of a heap lies outside of its block");
  return file.read(block + offset, length);
}

Result<Buffer> Hdf5GlobalHeap::get(Hdf5Metadata& file, uint64_t collection, uint32_t index) {
  if (collection == 0 || collection == kHdf5NoAddress || index == 0) return Buffer();
  if (loaded_ != collection) FOREBAY_RETURN_IF_ERROR(load(file, collection));
  const auto found = objects_.find(index);
  if (found == objects_.end()) return hdf5_damaged("a value of varying length is not in its heap");
  return found->second;
}

Status Hdf5GlobalHeap::load(Hdf5Metadata& file, uint64_t collection) {
  objects_.clear();
  loaded_ = kHdf5NoAddress;
  const uint64_t head_bytes = 8 + uint64_t{file.sizes().length};
  FOREBAY_ASSIGN(const Buffer head, file.read(collection, head_bytes));
  Hdf5Cursor prefix = file.cursor(head);
  prefix.signature("GCOL");
  prefix.skip(4);
  const uint64_t length = prefix.length();
  if (prefix.failed() || length < head_bytes) return hdf5_damaged("a heap of values of varying length is missing");
  FOREBAY_ASSIGN(const Buffer all, file.read(collection, length));
  Hdf5Cursor in = file.cursor(all);
  in.skip(head_bytes);
  while (in.left() >= head_bytes) {
    const uint16_t index = in.u16();
    in.skip(6);
    const uint64_t size = in.length();
    if (index == 0) break;  // free space
    const size_t at = in.at();
    in.skip(size);
    if (in.failed()) return hdf5_damaged("a value of varying length reaches beyond its heap");
    objects_[index] = all.slice(at, size);
    if (in.left() >= (8 - size % 8) % 8) in.skip((8 - size % 8) % 8);
  }
  loaded_ = collection;
  return {};
}

}  // namespace forebay
