#include "format/hdf5/rows.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

/// The numbers of the chunks that a range of rows touches, which are consecutive.
struct ChunkSpan {
  uint64_t begin = 0, end = 0;
};

ChunkSpan chunks_of(const Hdf5DataSet& data, uint64_t first, uint64_t count) {
  uint64_t inner = 1;
  for (size_t axis = 1; axis < data.chunk.size(); ++axis) inner *= data.grid(axis);
  return {first / data.chunk[0] * inner, ((first + count - 1) / data.chunk[0] + 1) * inner};
}

std::span<const Hdf5Chunk> written_chunks(const Hdf5DataSet& data, ChunkSpan span) {
  const auto begin = std::ranges::lower_bound(data.chunks, span.begin, {}, &Hdf5Chunk::number);
  const auto end = std::ranges::lower_bound(data.chunks, span.end, {}, &Hdf5Chunk::number);
  return {begin, end};
}

/// The part of one chunk that lies in the requested rows, as strides in the chunk and in the rows.
class ChunkBox {
 public:
  ChunkBox(const Hdf5DataSet& data, uint64_t number, uint64_t first, uint64_t count) : axes_(data.chunk.size()) {
    // Starts at the last axis, which varies fastest. Each step is the product of the later axes.
    for (size_t axis = axes_; axis-- > 0;) {
      const uint64_t grid = data.grid(axis), cell = number % grid;
      number /= grid;
      begin_[axis] = cell * data.chunk[axis];
      extent_[axis] = std::min(data.chunk[axis], data.space.dims[axis] - begin_[axis]);
      from_step_[axis] = axis + 1 == axes_ ? 1 : from_step_[axis + 1] * data.chunk[axis + 1];
      to_step_[axis] = axis + 1 == axes_ ? 1 : to_step_[axis + 1] * data.space.dims[axis + 1];
    }
    // Only the first axis is limited by the requested rows; the others are whole.
    const uint64_t low = std::max(begin_[0], first), high = std::min(begin_[0] + extent_[0], first + count);
    skipped_ = (low - begin_[0]) * from_step_[0];
    extent_[0] = high - low;
    begin_[0] = low - first;
    for (size_t axis = 0; axis < axes_; ++axis) to_ += begin_[axis] * to_step_[axis];
  }

  /// Number of the chunk's elements, counted from skipped(), that the requested rows span.
  uint64_t elements() const { return extent_[0] * from_step_[0]; }
  uint64_t skipped() const { return skipped_; }
  uint64_t to() const { return to_; }
  /// True if elements() are contiguous in the output.
  bool is_run() const { return whole_behind(0); }
  void copy(const uint8_t* from, uint64_t item_bytes, uint8_t* out) const {
    copy_axis(0, from, item_bytes, out + to_ * item_bytes);
  }

 private:
  bool whole_behind(size_t axis) const { return from_step_[axis] == to_step_[axis] && full_behind(axis); }
  bool full_behind(size_t axis) const {
    for (size_t k = axis + 1; k < axes_; ++k) {
      // A chunk at an edge extends beyond the data set, so its rows are not contiguous.
      if (extent_[k] * from_step_[k] != from_step_[k - 1]) return false;
    }
    return true;
  }
  void copy_axis(size_t axis, const uint8_t* from, uint64_t item_bytes, uint8_t* to) const {
    if (whole_behind(axis)) {
      std::memcpy(to, from, extent_[axis] * from_step_[axis] * item_bytes);
      return;
    }
    for (uint64_t i = 0; i < extent_[axis]; ++i)
      copy_axis(axis + 1, from + i * from_step_[axis] * item_bytes, item_bytes, to + i * to_step_[axis] * item_bytes);
  }

  static constexpr size_t kMaxAxes = 32;
  size_t axes_;
  uint64_t begin_[kMaxAxes], extent_[kMaxAxes], from_step_[kMaxAxes], to_step_[kMaxAxes];
  uint64_t skipped_ = 0, to_ = 0;
};

class RowReader {
 public:
  RowReader(const Hdf5DataSet& data, uint64_t first, uint64_t count, std::span<const Hdf5Extract> extracts,
            WorkMemory& memory)
      : data_(data), first_(first), count_(count), extracts_(extracts), memory_(memory),
        elements_(count * (data.row_bytes() / data.type.bytes)) {}

  Status run(const Hdf5Stored& stored, Hdf5Filtering& filtering) {
    if (elements_ == 0) return {};
    switch (data_.layout) {
      case Hdf5DataSet::Layout::kCompact:
        if (data_.compact.empty()) return fill();
        return end_to_end(data_.compact.data() + first_ * data_.row_bytes());
      case Hdf5DataSet::Layout::kContiguous: {
        if (data_.address == kHdf5NoAddress) return fill();
        FOREBAY_ASSIGN(const Buffer bytes,
                       stored(data_.address + first_ * data_.row_bytes(), count_ * data_.row_bytes()));
        return end_to_end(bytes.data());
      }
      case Hdf5DataSet::Layout::kChunked: return chunked(stored, filtering);
    }
    return {};
  }

 private:
  Status end_to_end(const uint8_t* bytes) {
    for (const Hdf5Extract& extract : extracts_) put(extract, bytes, elements_, extract.out);
    return {};
  }

  static void put(const Hdf5Extract& extract, const uint8_t* from, uint64_t elements, uint8_t* to) {
    if (extract.convert)
      extract.convert(from, elements, to);
    else
      std::memcpy(to, from, elements * extract.item_bytes);
  }

  Status fill() {
    const Buffer zeros = data_.fill.empty() ? Buffer::allocate(data_.type.bytes) : data_.fill;
    if (data_.fill.empty()) std::memset(const_cast<uint8_t*>(zeros.data()), 0, zeros.size());
    for (const Hdf5Extract& extract : extracts_) {
      if (extract.item_bytes == 0) continue;
      put(extract, zeros.data(), 1, extract.out);
      // The filled part doubles with each copy.
      const uint64_t all = elements_ * extract.item_bytes;
      for (uint64_t done = extract.item_bytes; done < all; done += std::min(done, all - done))
        std::memcpy(extract.out + done, extract.out, std::min(done, all - done));
    }
    return {};
  }

  Status chunked(const Hdf5Stored& stored, Hdf5Filtering& filtering) {
    const ChunkSpan span = chunks_of(data_, first_, count_);
    const std::span<const Hdf5Chunk> chunks = written_chunks(data_, span);
    // Missing chunks may lie anywhere, so everything is filled first and then overwritten by
    // written chunks.
    if (chunks.size() < span.end - span.begin) FOREBAY_RETURN_IF_ERROR(fill());
    for (const Hdf5Chunk& chunk : chunks) {
      const Status done = one_chunk(chunk, stored, filtering);
      if (!done.ok()) return Status(done).with_range({chunk.address, chunk.stored_bytes});
    }
    return {};
  }

  Status one_chunk(const Hdf5Chunk& chunk, const Hdf5Stored& stored, Hdf5Filtering& filtering) {
    FOREBAY_ASSIGN(const Buffer bytes, stored(chunk.address, chunk.stored_bytes));
    FOREBAY_ASSIGN(const std::span<const uint8_t> raw,
                   filtering.undo(data_.filters, chunk.filter_mask, bytes.span(), data_.chunk_bytes(), memory_));
    const ChunkBox box(data_, chunk.number, first_, count_);
    for (const Hdf5Extract& extract : extracts_)
      FOREBAY_RETURN_IF_ERROR(extract_box(box, raw.data() + box.skipped() * data_.type.bytes, extract));
    return {};
  }

  Status extract_box(const ChunkBox& box, const uint8_t* from, const Hdf5Extract& extract) {
    if (box.is_run()) {
      put(extract, from, box.elements(), extract.out + box.to() * extract.item_bytes);
      return {};
    }
    if (extract.convert) {
      const uint64_t bytes = box.elements() * extract.item_bytes;
      if (bytes > converted_.size()) {
        FOREBAY_RETURN_IF_ERROR(memory_.reserve(bytes - converted_.size()));
        converted_ = Buffer::allocate(bytes);
      }
      extract.convert(from, box.elements(), converted_.data());
      from = converted_.data();
    }
    box.copy(from, extract.item_bytes, extract.out);
    return {};
  }

  const Hdf5DataSet& data_;
  const uint64_t first_, count_;
  const std::span<const Hdf5Extract> extracts_;
  WorkMemory& memory_;
  const uint64_t elements_;
  Buffer converted_;
};

}  // namespace

std::vector<ByteRange> hdf5_stored_ranges(const Hdf5DataSet& data, uint64_t first, uint64_t count) {
  std::vector<ByteRange> ranges;
  if (count == 0 || data.space.elements() == 0 || data.layout == Hdf5DataSet::Layout::kCompact) return ranges;
  if (data.layout == Hdf5DataSet::Layout::kContiguous) {
    if (data.address != kHdf5NoAddress)
      ranges.push_back({data.address + first * data.row_bytes(), count * data.row_bytes()});
    return ranges;
  }
  for (const Hdf5Chunk& chunk : written_chunks(data, chunks_of(data, first, count)))
    ranges.push_back({chunk.address, chunk.stored_bytes});
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  return ranges;
}

Status read_hdf5_rows(const Hdf5DataSet& data, uint64_t first, uint64_t count, const Hdf5Stored& stored,
                      std::span<const Hdf5Extract> extracts, Hdf5Filtering& filtering, WorkMemory& memory) {
  return RowReader(data, first, count, extracts, memory).run(stored, filtering);
}

}  // namespace forebay
