#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/buffer.h"
#include "format/hdf5/cursor.h"
#include "format/hdf5/object_header.h"

namespace forebay {

/// Builds a small HDF5 file with one chunked data set, "/x", for tests. By default it is valid;
/// tests damage single parts of it. The numbers of sections are those of the HDF5 File Format
/// Specification 3.0.
struct TestHdf5File {
  struct Chunk {
    std::vector<uint64_t> first_element;  ///< index of its first element along each axis
    std::string stored;                   ///< its bytes after filtering
    uint32_t filter_mask = 0;             ///< bit i: filter i was not applied
  };
  struct Filter {
    uint16_t id = 0;
    std::vector<uint32_t> values = {};  ///< client data values
  };
  std::string type = integer(4, /*is_signed=*/true);  ///< the bytes of a datatype message
  uint32_t element_bytes = 4;
  std::vector<uint64_t> dims;   ///< extents of the data set
  std::vector<uint64_t> chunk;  ///< extents of a chunk
  std::vector<Filter> filters;
  std::vector<Chunk> chunks;
  std::string fill;  ///< the fill value, one element; zero if it is empty

  /// The bytes of a datatype message for little-endian integers (IV.A.2.d, class 0).
  static std::string integer(uint32_t bytes, bool is_signed) {
    constexpr char kVersion1Class0 = 0x10;
    const std::string bit_field = little_endian(is_signed ? 8 : 0, 3);
    const std::string bit_offset = little_endian(0, 2), bit_precision = little_endian(bytes * 8, 2);
    return kVersion1Class0 + bit_field + little_endian(bytes, 4) + bit_offset + bit_precision;
  }

  /// The bytes of the file.
  std::string to_bytes() const {
    std::string file(kSuperblockBytes, '\0');  // written last
    std::vector<uint64_t> addresses;
    for (const Chunk& each : chunks) {
      addresses.push_back(file.size());
      file += each.stored;
    }
    const uint64_t tree = file.size();
    file += chunk_tree(addresses);
    const uint64_t data_set = file.size();
    file += object_header(data_set_messages(tree));
    const uint64_t root = file.size();
    file += object_header(link_message(data_set));
    return file.replace(0, kSuperblockBytes, superblock(file.size(), root));
  }

 private:
  static constexpr size_t kSuperblockBytes = 48;

  static std::string little_endian(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  }

  static std::string bytes_of(std::initializer_list<uint8_t> values) { return {values.begin(), values.end()}; }

  static std::string with_checksum(const std::string& block) {
    return block + little_endian(hdf5_checksum({reinterpret_cast<const uint8_t*>(block.data()), block.size()}), 4);
  }

  // Superblock, version 2 (II.A).
  static std::string superblock(uint64_t file_bytes, uint64_t root) {
    const std::string signature = "\x89HDF\r\n\x1a\n";
    // Version; bytes of an address and of a length; flags.
    return with_checksum(signature + bytes_of({2, 8, 8, 0}) + little_endian(0, 8) +  // base address
                         little_endian(UINT64_MAX, 8) +                              // no extension
                         little_endian(file_bytes, 8) + little_endian(root, 8));
  }

  // Object header, version 2 (IV.A.1.b).
  static std::string object_header(const std::string& messages) {
    // Version; flags: the size of the messages takes 4 bytes.
    return with_checksum("OHDR" + bytes_of({2, 0x02}) + little_endian(messages.size(), 4) + messages);
  }

  // A header message: type, size, flags, body.
  static std::string message(Hdf5MessageType type, const std::string& body) {
    return bytes_of({static_cast<uint8_t>(type)}) + little_endian(body.size(), 2) + bytes_of({0}) + body;
  }

  // Link (IV.A.2.g): version, flags, length of the name, name; a hard link.
  static std::string link_message(uint64_t data_set) {
    return message(Hdf5MessageType::kLink, bytes_of({1, 0, 1}) + "x" + little_endian(data_set, 8));
  }

  std::string data_set_messages(uint64_t tree) const {
    return space_message() + message(Hdf5MessageType::kType, type) + layout_message(tree) + fill_message() +
           filter_message();
  }

  // Dataspace, version 2 (IV.A.2.b): version, rank, flags, type: simple.
  std::string space_message() const {
    std::string body = bytes_of({2, static_cast<uint8_t>(dims.size()), 0, 1});
    for (const uint64_t dim : dims) body += little_endian(dim, 8);
    return message(Hdf5MessageType::kSpace, body);
  }

  // Data layout, version 3 (IV.A.2.i): version, class: chunked, number of dimensions. The last
  // dimension is the bytes of an element.
  std::string layout_message(uint64_t tree) const {
    std::string body = bytes_of({3, 2, static_cast<uint8_t>(dims.size() + 1)}) + little_endian(tree, 8);
    for (const uint64_t dim : chunk) body += little_endian(dim, 4);
    return message(Hdf5MessageType::kLayout, body + little_endian(element_bytes, 4));
  }

  // Fill value, version 3 (IV.A.2.f): version, flags: a value is defined.
  std::string fill_message() const {
    if (fill.empty()) return "";
    return message(Hdf5MessageType::kFill, bytes_of({3, 0x20}) + little_endian(fill.size(), 4) + fill);
  }

  // Filter pipeline, version 2 (IV.A.2.l): version, number of filters; of each its id, the length
  // of its name (only from id 256 on), flags, number of values, values.
  std::string filter_message() const {
    if (filters.empty()) return "";
    std::string body = bytes_of({2, static_cast<uint8_t>(filters.size())});
    for (const Filter& filter : filters) {
      body += little_endian(filter.id, 2) + (filter.id >= 256 ? little_endian(0, 2) : "") + little_endian(0, 2) +
              little_endian(filter.values.size(), 2);
      for (const uint32_t value : filter.values) body += little_endian(value, 4);
    }
    return message(Hdf5MessageType::kFilters, body);
  }

  // A leaf of a version 1 B-tree (III.A.1): node type 1 (chunks), level 0, number of entries, the
  // siblings (none), and then a key and a child for each chunk.
  std::string chunk_tree(const std::vector<uint64_t>& addresses) const {
    std::string node = "TREE" + bytes_of({1, 0}) + little_endian(chunks.size(), 2) + little_endian(UINT64_MAX, 8) +
                       little_endian(UINT64_MAX, 8);
    for (size_t i = 0; i < chunks.size(); ++i) {
      node += little_endian(chunks[i].stored.size(), 4) + little_endian(chunks[i].filter_mask, 4);
      for (const uint64_t index : chunks[i].first_element) node += little_endian(index, 8);
      node += little_endian(0, 8);  // the offset within an element
      node += little_endian(addresses[i], 8);
    }
    return node + std::string(8 + 8 * (dims.size() + 1), '\0');  // the last key, which readers ignore
  }
};

/// Copies bytes to a buffer, as reads of a file return it.
inline Buffer hdf5_buffer(std::string_view bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace forebay
