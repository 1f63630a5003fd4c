#include "format/hdf5/chunk_index.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "format/hdf5/btree2.h"

namespace forebay {

namespace {

constexpr int kDeepestChunkTree = 32;
constexpr uint64_t kMaxSlots = uint64_t{1} << 40;
// 40 bytes each; enough for more than a terabyte in chunks of usual size.
constexpr uint64_t kMaxChunks = 32'000'000;

/// Collects the chunks of one data set from any kind of index. The five newer kinds are in appendix
/// C of the HDF5 File Format Specification 3.0; the oldest is in III.A.1.
class ChunkReader {
 public:
  ChunkReader(Hdf5Metadata& file, const Hdf5ChunkIndex& index, Hdf5DataSet& data)
      : file_(file), index_(index), data_(data), axes_(data.space.dims.size()), filtered_(!data.filters.empty()),
        whole_bytes_(data.chunk_bytes()) {}

  Status run() {
    if (index_.address == kHdf5NoAddress || data_.space.elements() == 0) return {};
    uint64_t all = 1;
    // At most the number of elements, which fits.
    for (size_t axis = 0; axis < axes_; ++axis) all *= data_.grid(axis);
    max_chunks_ = std::min({all, kMaxChunks, file_.size()});
    FOREBAY_RETURN_IF_ERROR(read());
    std::ranges::sort(data_.chunks, {}, &Hdf5Chunk::number);
    const auto twice = std::ranges::adjacent_find(data_.chunks, {}, &Hdf5Chunk::number);
    if (twice != data_.chunks.end()) return hdf5_damaged("a chunk has two places");
    data_.chunks.shrink_to_fit();
    return {};
  }

 private:
  Status read() {
    switch (index_.kind) {
      case Hdf5ChunkIndex::Kind::kBtreeV1: return btree_v1(index_.address, 0);
      case Hdf5ChunkIndex::Kind::kSingle:
        return add(std::vector<uint64_t>(axes_, 0), index_.address, filtered_ ? index_.single_bytes : whole_bytes_,
                   index_.single_filter_mask);
      case Hdf5ChunkIndex::Kind::kImplicit: return implicit();
      case Hdf5ChunkIndex::Kind::kFixedArray: return fixed_array();
      case Hdf5ChunkIndex::Kind::kExtensibleArray: return extensible_array();
      case Hdf5ChunkIndex::Kind::kBtreeV2: return btree_v2();
    }
    return {};
  }

  bool reaches_beyond(const std::vector<uint64_t>& cell) const {
    for (size_t axis = 0; axis < axes_; ++axis) {
      if ((cell[axis] + 1) * data_.chunk[axis] > data_.space.dims[axis]) return true;
    }
    return false;
  }

  /// Adds the chunk at `cell` in the grid. Chunks outside of the data set remain after it shrank.
  Status add(const std::vector<uint64_t>& cell, uint64_t address, uint64_t stored, uint32_t filter_mask) {
    if (address == kHdf5NoAddress) return {};
    uint64_t number = 0;
    for (size_t axis = 0; axis < axes_; ++axis) {
      if (cell[axis] >= data_.grid(axis)) return {};
      number = number * data_.grid(axis) + cell[axis];
    }
    if (filtered_ && index_.edges_unfiltered && reaches_beyond(cell)) {
      filter_mask = UINT32_MAX;
      stored = whole_bytes_;
    }
    if (!file_.holds(address, stored)) {
      return corrupt(
          fmt::format("a chunk should be at {} with {} bytes, which the file does not have; it was cut off or damaged",
                      address, stored));
    }
    if (!filtered_ && stored != whole_bytes_)
      return hdf5_damaged("a chunk without filters has another size than its shape");
    if (data_.chunks.size() == kMaxChunks)
      return unsupported("a data set of more than 32 million chunks; write it with larger ones");
    // Each chunk takes a byte of the file and its own place in the grid, so a small file cannot
    // cause a large index.
    if (data_.chunks.size() >= max_chunks_)
      return hdf5_damaged("there are more chunks than the data set has places for");
    data_.chunks.push_back({number, address, stored, filter_mask});
    return {};
  }

  Status btree_v1(uint64_t address, int depth) {
    if (depth == kDeepestChunkTree) return hdf5_damaged("the tree of a data set's chunks leads in circles");
    const uint64_t size = file_.sizes().address, head_bytes = 8 + 2 * size, key_bytes = 8 + 8 * (axes_ + 1);
    FOREBAY_ASSIGN(const Buffer head, file_.read(address, head_bytes));
    Hdf5Cursor in = file_.cursor(head);
    in.signature("TREE");
    const uint8_t type = in.u8(), level = in.u8();
    const uint16_t count = in.u16();
    if (in.failed() || type != 1) return hdf5_damaged("the tree of a data set's chunks is missing");
    FOREBAY_ASSIGN(const Buffer entries, file_.read(address + head_bytes, count * (key_bytes + size)));
    Hdf5Cursor each = file_.cursor(entries);
    std::vector<uint64_t> cell(axes_);
    for (uint16_t i = 0; i < count; ++i) {
      const uint32_t stored = each.u32(), filter_mask = each.u32();
      for (size_t axis = 0; axis < axes_; ++axis) {
        const uint64_t begin = each.u64();
        if (begin % data_.chunk[axis] != 0) return hdf5_damaged("a chunk begins inside another one");
        cell[axis] = begin / data_.chunk[axis];
      }
      // The key has one axis more than the data set, for bytes within an element; it is always 0.
      each.skip(8);
      const uint64_t child = each.address();
      FOREBAY_RETURN_IF_ERROR(level == 0 ? add(cell, child, stored, filter_mask) : btree_v1(child, depth + 1));
    }
    return {};
  }

  Status btree_v2() {
    std::vector<uint64_t> cell(axes_);
    const uint64_t size = file_.sizes().address;
    return walk_hdf5_tree(file_, index_.address, [&](const Hdf5Tree& of, std::span<const uint8_t> record) -> Status {
      Hdf5Cursor in(record, file_.sizes());
      const uint64_t fixed = size + 8 * axes_ + (filtered_ ? 4 : 0);
      if (of.type != (filtered_ ? 11 : 10) || record.size() < fixed)
        return hdf5_damaged("the tree of a data set's chunks");
      const uint64_t address = in.address();
      const uint64_t stored = filtered_ ? in.number(record.size() - fixed) : whole_bytes_;
      const uint32_t filter_mask = filtered_ ? in.u32() : 0;
      for (uint64_t& each : cell) each = in.u64();
      return add(cell, address, stored, filter_mask);
    });
  }

  // Arrays are indexed by the chunks that are possible at the maximum size of the data set.
  uint64_t max_along(size_t axis) const {
    const uint64_t most = data_.space.most[axis];
    return most == kHdf5Unlimited ? kHdf5Unlimited : (most + data_.chunk[axis] - 1) / data_.chunk[axis];
  }

  /// In an extensible array the unlimited axis comes first.
  std::vector<size_t> axes_in_order() const {
    std::vector<size_t> order;
    for (size_t axis = 0; axis < axes_; ++axis) order.push_back(axis);
    if (index_.kind != Hdf5ChunkIndex::Kind::kExtensibleArray) return order;
    const auto grows =
        std::ranges::find_if(order, [&](size_t axis) { return data_.space.most[axis] == kHdf5Unlimited; });
    if (grows != order.end()) std::rotate(order.begin(), grows, grows + 1);
    return order;
  }

  std::vector<uint64_t> place_of(uint64_t slot) const {
    const std::vector<size_t> order = axes_in_order();
    std::vector<uint64_t> cell(axes_);
    for (size_t i = axes_; i-- > 0;) {
      const uint64_t most = i == 0 ? kHdf5Unlimited : std::max<uint64_t>(1, max_along(order[i]));
      cell[order[i]] = slot % most;
      slot /= most;
    }
    return cell;
  }

  /// No chunk in slots from here on lies inside the data set.
  uint64_t slots() const {
    const std::vector<size_t> order = axes_in_order();
    unsigned __int128 last = 0;
    for (size_t i = 0; i < axes_; ++i) {
      last = last * std::max<uint64_t>(1, max_along(order[i])) + (data_.grid(order[i]) - 1);
      if (last > kMaxSlots) return kMaxSlots;
    }
    return static_cast<uint64_t>(last) + 1;
  }

  Status implicit() {
    const uint64_t count = slots();
    if (count > kMaxChunks || !file_.holds(index_.address, count * whole_bytes_)) {
      return corrupt("its chunks do not fit into the file; it was cut off or damaged");
    }
    for (uint64_t slot = 0; slot < count; ++slot)
      FOREBAY_RETURN_IF_ERROR(add(place_of(slot), index_.address + slot * whole_bytes_, whole_bytes_, 0));
    return {};
  }

  Status element(Hdf5Cursor& in, uint64_t slot, uint64_t element_bytes) {
    const uint64_t size = file_.sizes().address;
    const uint64_t address = in.address();
    uint64_t stored = whole_bytes_;
    uint32_t filter_mask = 0;
    if (filtered_) {
      stored = in.number(element_bytes - size - 4);
      filter_mask = in.u32();
    }
    if (in.failed()) return hdf5_damaged("the index of a data set's chunks is cut off");
    return add(place_of(slot), address, stored, filter_mask);
  }

  bool element_fits(uint64_t bytes) const {
    const uint64_t size = file_.sizes().address;
    return filtered_ ? bytes > size + 4 && bytes <= size + 12 : bytes == size;
  }

  Status elements(const Buffer& block, uint64_t skip, uint64_t first, uint64_t count, uint64_t element_bytes) {
    Hdf5Cursor in = file_.cursor(block);
    in.skip(skip);
    const uint64_t most = slots();
    for (uint64_t i = 0; i < count && first + i < most; ++i)
      FOREBAY_RETURN_IF_ERROR(element(in, first + i, element_bytes));
    return {};
  }

  /// Reads elements in pages, each with its checksum. `written` has one bit per page, highest
  /// first; if it is empty, all pages are written.
  Status pages(uint64_t address, uint64_t first, uint64_t count, uint64_t page, uint64_t element_bytes,
               std::span<const uint8_t> written) {
    const uint64_t most = slots();
    for (uint64_t begin = 0, i = 0; begin < count; begin += page, ++i) {
      const uint64_t here = std::min(page, count - begin), bytes = here * element_bytes + 4;
      // Pages that were never written have no checksum.
      const bool there = written.empty() || (i / 8 < written.size() && (written[i / 8] >> (7 - i % 8) & 1) != 0);
      if (there && first + begin < most) {
        FOREBAY_ASSIGN(const Buffer block, file_.read_checked(address, bytes, "an index of chunks"));
        FOREBAY_RETURN_IF_ERROR(elements(block, 0, first + begin, here, element_bytes));
      }
      address += bytes;
    }
    return {};
  }

  Status fixed_array() {
    const Hdf5Sizes sizes = file_.sizes();
    FOREBAY_ASSIGN(const Buffer head, file_.read_checked(index_.address, 12 + uint64_t{sizes.length} + sizes.address,
                                                         "an index of chunks"));
    Hdf5Cursor in = file_.cursor(head);
    in.signature("FAHD");
    in.skip(2);
    const uint8_t element_bytes = in.u8(), page_bits = in.u8();
    const uint64_t count = in.length(), block = in.address();
    if (in.failed() || !element_fits(element_bytes) || page_bits > 32 || count > kMaxSlots)
      return hdf5_damaged("the index of a data set's chunks");
    if (block == kHdf5NoAddress) return {};
    const uint64_t page = uint64_t{1} << page_bits, prefix = 6 + uint64_t{sizes.address};
    // A single page has no page structure: its elements follow the prefix, with one checksum at the
    // end.
    if (count <= page) {
      FOREBAY_ASSIGN(const Buffer all,
                     file_.read_checked(block, prefix + count * element_bytes + 4, "an index of chunks"));
      if (!file_.cursor(all).signature("FADB")) return hdf5_damaged("the index of a data set's chunks is missing");
      return elements(all, prefix, 0, count, element_bytes);
    }
    const uint64_t bitmap = ((count + page - 1) / page + 7) / 8;
    FOREBAY_ASSIGN(const Buffer begin, file_.read_checked(block, prefix + bitmap + 4, "an index of chunks"));
    return pages(block + prefix + bitmap + 4, 0, count, page, element_bytes, begin.span().subspan(prefix, bitmap));
  }

  Status extensible_array();
  Status extensible_blocks(const struct ExtensibleArray& array, const Buffer& index_block);
  Status super_block(const struct ExtensibleArray& array, uint64_t address, uint32_t row, uint64_t first);
  Status data_block(const struct ExtensibleArray& array, uint64_t address, uint64_t first, uint64_t count,
                    std::span<const uint8_t> written);

  Hdf5Metadata& file_;
  const Hdf5ChunkIndex& index_;
  Hdf5DataSet& data_;
  const size_t axes_;
  const bool filtered_;
  const uint64_t whole_bytes_;
  uint64_t max_chunks_ = 0;
};

/// Super block r has 2^(r/2) data blocks of 2^((r+1)/2) times the minimum number of elements. The
/// index block itself holds the first elements, and the addresses of the first super blocks' data
/// blocks.
struct ExtensibleArray {
  uint8_t element_bytes = 0, max_bits = 0, in_index = 0, least = 0, least_pointers = 0, page_bits = 0;
  uint64_t prefix_bytes = 0, offset_bytes = 0;

  uint32_t supers() const { return 1u + max_bits - static_cast<uint32_t>(std::countr_zero(least)); }
  uint32_t supers_in_index() const { return 2u * static_cast<uint32_t>(std::countr_zero(least_pointers)); }
  static uint64_t blocks(uint32_t row) { return uint64_t{1} << (row / 2); }
  uint64_t block_elements(uint32_t row) const { return (uint64_t{1} << ((row + 1) / 2)) * least; }
  uint64_t page() const { return uint64_t{1} << page_bits; }
};

Status ChunkReader::extensible_array() {
  const Hdf5Sizes sizes = file_.sizes();
  FOREBAY_ASSIGN(const Buffer head, file_.read_checked(index_.address, 16 + 6 * uint64_t{sizes.length} + sizes.address,
                                                       "an index of chunks"));
  Hdf5Cursor in = file_.cursor(head);
  in.signature("EAHD");
  in.skip(2);
  ExtensibleArray array;
  array.element_bytes = in.u8();
  array.max_bits = in.u8();
  array.in_index = in.u8();
  array.least = in.u8();
  array.least_pointers = in.u8();
  array.page_bits = in.u8();
  // Statistics, which are not needed.
  in.skip(6 * uint64_t{sizes.length});
  const uint64_t block = in.address();
  array.prefix_bytes = 6 + uint64_t{sizes.address};
  array.offset_bytes = (uint64_t{array.max_bits} + 7) / 8;
  if (in.failed() || !element_fits(array.element_bytes) || array.max_bits > 64 || !std::has_single_bit(array.least) ||
      !std::has_single_bit(array.least_pointers) || array.least_pointers < 2 || array.page_bits > 32 ||
      array.supers() < array.supers_in_index() || array.supers() > 100)
    return hdf5_damaged("the index of a data set's chunks");
  if (block == kHdf5NoAddress) return {};
  const uint64_t pointers = 2 * (uint64_t{array.least_pointers} - 1) + array.supers() - array.supers_in_index();
  const uint64_t bytes =
      array.prefix_bytes + uint64_t{array.in_index} * array.element_bytes + pointers * sizes.address + 4;
  FOREBAY_ASSIGN(const Buffer index_block, file_.read_checked(block, bytes, "an index of chunks"));
  if (!file_.cursor(index_block).signature("EAIB")) return hdf5_damaged("the index of a data set's chunks is missing");
  FOREBAY_RETURN_IF_ERROR(elements(index_block, array.prefix_bytes, 0, array.in_index, array.element_bytes));
  return extensible_blocks(array, index_block);
}

Status ChunkReader::extensible_blocks(const ExtensibleArray& array, const Buffer& index_block) {
  Hdf5Cursor in = file_.cursor(index_block);
  in.skip(array.prefix_bytes + uint64_t{array.in_index} * array.element_bytes);
  const uint64_t most = slots();
  uint64_t first = array.in_index;
  // Each row has twice the elements of the previous one, and `most` is at most 2^40, so `first`
  // exceeds it before it could overflow.
  for (uint32_t row = 0; row < array.supers() && first < most; ++row) {
    const uint64_t each = array.block_elements(row);
    if (row >= array.supers_in_index()) {
      const uint64_t address = in.address();
      if (address != kHdf5NoAddress) FOREBAY_RETURN_IF_ERROR(super_block(array, address, row, first));
      first += each * ExtensibleArray::blocks(row);
      continue;
    }
    for (uint64_t i = 0; i < ExtensibleArray::blocks(row) && first < most; ++i, first += each)
      FOREBAY_RETURN_IF_ERROR(data_block(array, in.address(), first, each, {}));
  }
  return in.failed() ? hdf5_damaged("the index of a data set's chunks is cut off") : Status();
}

Status ChunkReader::super_block(const ExtensibleArray& array, uint64_t address, uint32_t row, uint64_t first) {
  const uint64_t each = array.block_elements(row), count = ExtensibleArray::blocks(row), most = slots();
  const uint64_t bits = each > array.page() ? (each / array.page() + 7) / 8 : 0;
  const uint64_t begin = array.prefix_bytes + array.offset_bytes, size = file_.sizes().address;
  if (count > kMaxChunks) return hdf5_damaged("the index of a data set's chunks");
  FOREBAY_ASSIGN(const Buffer block,
                 file_.read_checked(address, begin + count * (bits + size) + 4, "an index of chunks"));
  Hdf5Cursor in = file_.cursor(block);
  if (!in.signature("EASB")) return hdf5_damaged("the index of a data set's chunks is missing");
  in.skip(begin - 4 + count * bits);
  for (uint64_t i = 0; i < count && first < most; ++i, first += each)
    FOREBAY_RETURN_IF_ERROR(data_block(array, in.address(), first, each, block.span().subspan(begin + i * bits, bits)));
  return {};
}

Status ChunkReader::data_block(const ExtensibleArray& array, uint64_t address, uint64_t first, uint64_t count,
                               std::span<const uint8_t> written) {
  if (address == kHdf5NoAddress) return {};
  // Data blocks begin like the index block, followed by their offset in the array.
  const uint64_t prefix = array.prefix_bytes + array.offset_bytes;
  if (count <= array.page()) {
    FOREBAY_ASSIGN(const Buffer block,
                   file_.read_checked(address, prefix + count * array.element_bytes + 4, "an index of chunks"));
    if (!file_.cursor(block).signature("EADB")) return hdf5_damaged("the index of a data set's chunks is missing");
    return elements(block, prefix, first, count, array.element_bytes);
  }
  return pages(address + prefix + 4, first, count, array.page(), array.element_bytes, written);
}

}  // namespace

Status read_hdf5_chunks(Hdf5Metadata& file, const Hdf5ChunkIndex& index, Hdf5DataSet& data) {
  return ChunkReader(file, index, data).run();
}

}  // namespace forebay
