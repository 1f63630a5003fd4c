#include "format/hdf5/data_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/hdf5/btree2.h"
#include "format/hdf5/chunk_index.h"
#include "format/hdf5/heaps.h"

namespace forebay {

namespace {

// The limits of the HDF5 library, H5S_MAX_RANK and H5Z_MAX_NFILTERS, are 32 too.
constexpr uint8_t kMaxHdf5Axes = 32;
constexpr uint64_t kMaxElements = uint64_t{1} << 56, kMaxChunkBytes = UINT32_MAX;
constexpr size_t kMaxFilters = 32;
constexpr uint8_t kAttributeTree = 8;

Result<std::vector<Hdf5Filter>> parse_filters(Hdf5Cursor& in) {
  const uint8_t version = in.u8(), count = in.u8();
  if (version == 1) in.skip(6);
  std::vector<Hdf5Filter> filters;
  for (uint8_t i = 0; i < count && !in.failed(); ++i) {
    Hdf5Filter filter;
    filter.id = in.u16();
    // IV.A.2.l: in version 2 the library's own filters, below 256, have no name.
    const uint16_t name_bytes = version == 1 || filter.id >= 256 ? in.u16() : 0;
    in.skip(2);
    const uint16_t values = in.u16();
    const std::span<const uint8_t> name = in.bytes(version == 1 ? (name_bytes + 7) / 8 * 8 : name_bytes);
    filter.name.assign(name.begin(), std::ranges::find(name, uint8_t{0}));
    for (uint16_t k = 0; k < values && !in.failed(); ++k) filter.values.push_back(in.u32());
    // Version 1 pads to multiples of eight.
    if (version == 1 && values % 2 != 0) in.skip(4);
    filters.push_back(std::move(filter));
  }
  if (in.failed() || version < 1 || version > 2 || filters.size() > kMaxFilters)
    return hdf5_damaged("the list of a data set's filters");
  return filters;
}

Result<Buffer> parse_fill(const Hdf5Message& message) {
  Hdf5Cursor in(message.bytes.span());
  if (message.type == static_cast<uint16_t>(Hdf5MessageType::kFill)) {
    const uint8_t version = in.u8();
    const uint8_t flags = version >= 3 ? in.u8() : 0;
    if (version < 3) in.skip(2);
    // IV.A.2.f: bit 5 of the flags from version 3 on, a byte before that.
    const bool defined = version >= 3 ? (flags & 0x20) != 0 : in.u8() != 0;
    if (!defined) return Buffer();
  }
  const uint32_t bytes = in.u32();
  const size_t at = in.at();
  in.skip(bytes);
  if (in.failed()) return hdf5_damaged("a fill value is cut off");
  return message.bytes.slice(at, bytes);
}

/// Parses a layout message of any version.
class LayoutReader {
 public:
  LayoutReader(Hdf5Metadata& file, Hdf5DataSet& data) : file_(file), data_(data) {}

  Status run(const Buffer& bytes) {
    Hdf5Cursor in = file_.cursor(bytes);
    const uint8_t version = in.u8();
    FOREBAY_RETURN_IF_ERROR(version < 3 ? old(in, bytes) : newer(in, version, bytes));
    if (in.failed()) return hdf5_damaged("the layout of a data set is cut off");
    return check(version);
  }

  const Hdf5ChunkIndex& index() const { return index_; }

 private:
  Status old(Hdf5Cursor& in, const Buffer& bytes) {
    const uint8_t axes = in.u8();
    const uint8_t kind = in.u8();
    if (kind > 2) return hdf5_damaged("a data set has an unknown layout");
    data_.layout = static_cast<Hdf5DataSet::Layout>(kind);
    in.skip(5);
    if (data_.layout != Hdf5DataSet::Layout::kCompact) index_.address = data_.address = in.address();
    std::vector<uint64_t> dims;
    for (uint8_t i = 0; i < axes && !in.failed(); ++i) dims.push_back(in.u32());
    if (data_.layout == Hdf5DataSet::Layout::kChunked) data_.chunk = std::move(dims);
    if (data_.layout == Hdf5DataSet::Layout::kCompact) take_compact(in, in.u32(), bytes);
    return {};
  }

  Status newer(Hdf5Cursor& in, uint8_t version, const Buffer& bytes) {
    const uint8_t kind = in.u8();
    if (kind == 3)
      return unsupported(
          "a virtual data set, whose values lie in other files; give those files, or write it as one with `h5repack`");
    if (version > 5 || kind > 3)
      return unsupported(fmt::format("a layout of version {}, which is newer than this reader", version));
    data_.layout = static_cast<Hdf5DataSet::Layout>(kind);
    switch (data_.layout) {
      case Hdf5DataSet::Layout::kCompact: take_compact(in, in.u16(), bytes); break;
      case Hdf5DataSet::Layout::kContiguous:
        data_.address = in.address();
        contiguous_bytes_ = in.length();
        break;
      case Hdf5DataSet::Layout::kChunked: version == 3 ? chunked3(in) : chunked4(in); break;
    }
    return {};
  }

  void take_compact(Hdf5Cursor& in, uint64_t size, const Buffer& bytes) {
    const size_t at = in.at();
    in.skip(size);
    if (!in.failed()) data_.compact = bytes.slice(at, size);
  }

  void chunked3(Hdf5Cursor& in) {
    const uint8_t axes = in.u8();
    index_.address = in.address();
    for (uint8_t i = 0; i < axes && !in.failed(); ++i) data_.chunk.push_back(in.u32());
  }

  void chunked4(Hdf5Cursor& in) {
    const uint8_t flags = in.u8(), axes = in.u8(), dim_bytes = in.u8();
    for (uint8_t i = 0; i < axes && !in.failed(); ++i) data_.chunk.push_back(in.number(dim_bytes));
    index_.edges_unfiltered = (flags & 1) != 0;
    index_.kind = static_cast<Hdf5ChunkIndex::Kind>(in.u8());
    switch (index_.kind) {
      case Hdf5ChunkIndex::Kind::kSingle:
        if ((flags & 2) != 0) {
          index_.single_bytes = in.length();
          index_.single_filter_mask = in.u32();
        }
        break;
      case Hdf5ChunkIndex::Kind::kImplicit: break;
      case Hdf5ChunkIndex::Kind::kFixedArray: in.skip(1); break;
      case Hdf5ChunkIndex::Kind::kExtensibleArray: in.skip(5); break;
      case Hdf5ChunkIndex::Kind::kBtreeV2: in.skip(6); break;
      default: in.fail();
    }
    index_.address = in.address();
  }

  Status check(uint8_t version) {
    if (data_.layout == Hdf5DataSet::Layout::kChunked) return check_chunked();
    const uint64_t elements = data_.space.elements(), bytes = elements * data_.type.bytes;
    if (data_.layout == Hdf5DataSet::Layout::kCompact && data_.compact.size() < bytes && !data_.compact.empty())
      return hdf5_damaged("a compact data set is shorter than its shape says");
    if (data_.layout != Hdf5DataSet::Layout::kContiguous || data_.address == kHdf5NoAddress) return {};
    if ((version >= 3 && contiguous_bytes_ < bytes) || !file_.holds(data_.address, bytes)) {
      return corrupt(
          fmt::format("its shape says {} bytes, which the file does not have; it was cut off or damaged", bytes));
    }
    return {};
  }

  Status check_chunked() {
    // The last dimension is the size of an element.
    if (data_.chunk.size() != data_.space.dims.size() + 1)
      return hdf5_damaged("chunks have other axes than their data set");
    if (data_.chunk.back() != data_.type.bytes) return hdf5_damaged("chunks have other elements than their data set");
    data_.chunk.pop_back();
    uint64_t bytes = data_.type.bytes;
    for (const uint64_t dim : data_.chunk) {
      // Cannot overflow before the comparison, because both factors have 32 bits.
      if (dim == 0 || dim > kMaxChunkBytes || (bytes *= dim) > kMaxChunkBytes)
        return hdf5_damaged("the shape of a data set's chunks makes no sense");
    }
    return {};
  }

  Hdf5Metadata& file_;
  Hdf5DataSet& data_;
  Hdf5ChunkIndex index_;
  uint64_t contiguous_bytes_ = 0;
};

Status parse_description(Hdf5Metadata& file, const Hdf5Header& header, Hdf5DataSet& data) {
  const Hdf5Message* const type = header.find(Hdf5MessageType::kType);
  const Hdf5Message* const space = header.find(Hdf5MessageType::kSpace);
  if (type == nullptr || space == nullptr) return hdf5_damaged("a data set says no type or no shape");
  Hdf5Cursor type_in = file.cursor(type->bytes), space_in = file.cursor(space->bytes);
  FOREBAY_ASSIGN(data.type, parse_hdf5_type(type_in));
  FOREBAY_ASSIGN(data.space, parse_hdf5_space(space_in));
  const uint64_t elements = data.space.elements();
  if (elements > kMaxElements || (elements > 0 && data.type.bytes > kMaxElements / elements))
    return hdf5_damaged("a data set says a shape that no file could hold");
  // The newer message comes first. If both exist, they agree.
  for (const Hdf5MessageType fill_type : {Hdf5MessageType::kFill, Hdf5MessageType::kOldFill}) {
    if (const Hdf5Message* const fill = header.find(fill_type); fill != nullptr && data.fill.empty()) {
      FOREBAY_ASSIGN(data.fill, parse_fill(*fill));
    }
  }
  if (!data.fill.empty() && data.fill.size() != data.type.bytes) return hdf5_damaged("a fill value is of another size");
  return {};
}

Result<Hdf5Attribute> parse_attribute(Hdf5Metadata& file, const Buffer& bytes, std::string* name) {
  Hdf5Cursor in = file.cursor(bytes);
  const uint8_t version = in.u8(), flags = in.u8();
  const uint16_t name_bytes = in.u16(), type_bytes = in.u16(), space_bytes = in.u16();
  if (version == 3) in.skip(1);
  const auto padded = [&](uint16_t size) -> uint64_t { return version == 1 ? (uint64_t{size} + 7) / 8 * 8 : size; };
  const std::span<const uint8_t> text = in.bytes(padded(name_bytes));
  name->assign(text.begin(), std::ranges::find(text, uint8_t{0}));
  const size_t type_at = in.at();
  in.skip(padded(type_bytes));
  const size_t space_at = in.at();
  in.skip(padded(space_bytes));
  if (in.failed() || version < 1 || version > 3) return hdf5_damaged("an attribute is cut off");
  Buffer type = bytes.slice(type_at, type_bytes), space = bytes.slice(space_at, space_bytes);
  if (version > 1 && (flags & 1) != 0) {
    FOREBAY_ASSIGN(type, hdf5_shared_message(file, Hdf5MessageType::kType, type));
  }
  if (version > 1 && (flags & 2) != 0) {
    FOREBAY_ASSIGN(space, hdf5_shared_message(file, Hdf5MessageType::kSpace, space));
  }
  Hdf5Attribute attribute;
  Hdf5Cursor type_in = file.cursor(type), space_in = file.cursor(space);
  FOREBAY_ASSIGN(attribute.type, parse_hdf5_type(type_in));
  FOREBAY_ASSIGN(attribute.space, parse_hdf5_space(space_in));
  const uint64_t elements = attribute.space.elements();
  // The divisor is not 0, because types of no bytes were refused.
  if (elements > in.left() / attribute.type.bytes) return hdf5_damaged("an attribute is shorter than its shape says");
  attribute.values = bytes.slice(in.at(), elements * attribute.type.bytes);
  return attribute;
}

/// Calls `visit` with the bytes of each attribute, wherever they are stored.
Status visit_attributes(Hdf5Metadata& file, const Hdf5Header& header,
                        const std::function<Status(const Buffer&)>& visit) {
  for (const Hdf5Message& message : header.messages) {
    if (message.type == static_cast<uint16_t>(Hdf5MessageType::kAttribute))
      FOREBAY_RETURN_IF_ERROR(visit(message.bytes));
  }
  // Objects with many attributes store them in a heap, which a B-tree of names indexes (IV.A.2.v).
  const Hdf5Message* const many = header.find(Hdf5MessageType::kAttributes);
  if (many == nullptr) return {};
  Hdf5Cursor in = file.cursor(many->bytes);
  in.skip(1);
  if ((in.u8() & 1) != 0) in.skip(2);
  const uint64_t heap_at = in.address(), tree = in.address();
  if (in.failed()) return hdf5_damaged("the attributes of an object");
  if (heap_at == kHdf5NoAddress || tree == kHdf5NoAddress) return {};
  FOREBAY_ASSIGN(const Hdf5FractalHeap heap, Hdf5FractalHeap::open(file, heap_at));
  return walk_hdf5_tree(file, tree, [&](const Hdf5Tree& of, std::span<const uint8_t> record) -> Status {
    if (of.type != kAttributeTree || record.size() < 8) return hdf5_damaged("the attributes of an object");
    FOREBAY_ASSIGN(const Buffer entry, heap.get(file, record.first(8)));
    return visit(entry);
  });
}

}  // namespace

uint64_t Hdf5Space::elements() const {
  uint64_t product = empty ? 0 : 1;
  for (const uint64_t dim : dims) {
    if (dim != 0 && product > (kHdf5NoAddress - 1) / dim) return kHdf5NoAddress;
    product *= dim;
  }
  return product;
}

uint64_t Hdf5DataSet::row_bytes() const {
  uint64_t bytes = type.bytes;
  for (size_t axis = 1; axis < space.dims.size(); ++axis) bytes *= space.dims[axis];
  return bytes;
}

uint64_t Hdf5DataSet::chunk_bytes() const {
  uint64_t bytes = type.bytes;
  for (const uint64_t dim : chunk) bytes *= dim;
  return bytes;
}

const Hdf5Chunk* Hdf5DataSet::find_chunk(uint64_t number) const {
  const auto found = std::ranges::lower_bound(chunks, number, {}, &Hdf5Chunk::number);
  return found != chunks.end() && found->number == number ? &*found : nullptr;
}

uint64_t Hdf5DataSet::index_bytes() const {
  return sizeof *this + chunks.capacity() * sizeof(Hdf5Chunk) + compact.size() + fill.size() + path.capacity();
}

Result<Hdf5Space> parse_hdf5_space(Hdf5Cursor& in) {
  const uint8_t version = in.u8(), axes = in.u8(), flags = in.u8();
  Hdf5Space space;
  if (version == 1) in.skip(5);
  if (version == 2) space.empty = in.u8() == 2;
  if (in.failed() || version < 1 || version > 2 || axes > kMaxHdf5Axes) return hdf5_damaged("the shape of a data set");
  for (uint8_t i = 0; i < axes; ++i) space.dims.push_back(in.length());
  space.most = space.dims;
  if ((flags & 1) != 0) {
    // All bits of a length are set, whatever its size in this file (IV.A.2.b).
    const uint64_t no_end = UINT64_MAX >> (64 - 8 * std::min<unsigned>(in.sizes().length, 8));
    for (uint64_t& most : space.most) {
      most = in.length();
      if (most == no_end) most = kHdf5Unlimited;
    }
  }
  if (in.failed()) return hdf5_damaged("the shape of a data set is cut off");
  return space;
}

Result<Hdf5DataSet> open_hdf5_data_set(Hdf5Metadata& file, const Hdf5Header& header, std::string_view path) {
  Hdf5DataSet data;
  data.path = std::string(path);
  const Hdf5Message* const layout = header.find(Hdf5MessageType::kLayout);
  if (layout == nullptr) return invalid_argument(fmt::format("'{}' is a group or a type and not a data set", path));
  if (header.find(Hdf5MessageType::kExternalFiles) != nullptr)
    return unsupported(
        "its values lie in other files, and none is opened that was not named; write it as one with `h5repack`");
  FOREBAY_RETURN_IF_ERROR(parse_description(file, header, data));
  if (const Hdf5Message* const filters = header.find(Hdf5MessageType::kFilters)) {
    Hdf5Cursor in = file.cursor(filters->bytes);
    FOREBAY_ASSIGN(data.filters, parse_filters(in));
  }
  LayoutReader reader(file, data);
  FOREBAY_RETURN_IF_ERROR(reader.run(layout->bytes));
  if (data.layout != Hdf5DataSet::Layout::kChunked) {
    data.filters.clear();
    return data;
  }
  FOREBAY_RETURN_IF_ERROR(check_hdf5_filters(data.filters));
  FOREBAY_RETURN_IF_ERROR(read_hdf5_chunks(file, reader.index(), data));
  return data;
}

Result<Hdf5Attribute> find_hdf5_attribute(Hdf5Metadata& file, const Hdf5Header& header, std::string_view name) {
  std::optional<Hdf5Attribute> found;
  std::vector<std::string> known;
  FOREBAY_RETURN_IF_ERROR(visit_attributes(file, header, [&](const Buffer& bytes) -> Status {
    std::string each;
    // An attribute that cannot be read matters only if it is the requested one.
    Result<Hdf5Attribute> attribute = parse_attribute(file, bytes, &each);
    known.push_back(each);
    if (each != name) return {};
    if (!attribute.ok()) return attribute.status();
    found = std::move(*attribute);
    return {};
  }));
  if (found) return std::move(*found);
  return not_found(fmt::format("no attribute '{}' there{}", name, suggestion_text(name, known)));
}

}  // namespace forebay
