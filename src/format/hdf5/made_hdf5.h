#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "forebay/buffer.h"
#include "format/hdf5/cursor.h"

namespace forebay {

/// Builds a small HDF5 file with one data set, "/x", for tests. By default it is valid; tests
/// damage single parts of it.
struct MadeHdf5 {
  struct Chunk {
    std::vector<uint64_t> begin;
    std::string stored;
    uint32_t skipped = 0;
  };
  struct Filter {
    uint16_t id = 0;
    std::vector<uint32_t> values = {};
  };
  std::string type = integer(4, true);
  uint32_t element_bytes = 4;
  std::vector<uint64_t> dims, chunk;
  std::vector<Filter> filters;
  std::vector<Chunk> chunks;
  std::string fill;

  static std::string number(uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
    return text;
  }
  static std::string integer(uint32_t bytes, bool is_signed) {
    return std::string(1, 0x10) + number(is_signed ? 8 : 0, 3) + number(bytes, 4) + number(0, 2) + number(bytes * 8, 2);
  }
  static std::string message(uint8_t part, const std::string& body) {
    return std::string(1, static_cast<char>(part)) + number(body.size(), 2) + std::string(1, 0) + body;
  }
  static std::string with_checksum(const std::string& block) {
    return block + number(hdf5_checksum({reinterpret_cast<const uint8_t*>(block.data()), block.size()}), 4);
  }
  static std::string header(const std::string& messages) {
    return with_checksum("OHDR" + std::string("\x02\x02", 2) + number(messages.size(), 4) + messages);
  }

  std::string to_bytes() const {
    std::string file(48, '\0');  // the superblock is written last
    std::vector<uint64_t> addresses;
    for (const Chunk& each : chunks) {
      addresses.push_back(file.size());
      file += each.stored;
    }
    const uint64_t tree = file.size();
    file += chunk_tree(addresses);
    const uint64_t data = file.size();
    file += header(messages(tree));
    const uint64_t root = file.size();
    file += header(message(0x06, std::string("\x01\x00\x01x", 4) + number(data, 8)));
    const std::string head = with_checksum(std::string("\x89HDF\r\n\x1a\n\x02\x08\x08\x00", 12) + number(0, 8) +
                                           number(UINT64_MAX, 8) + number(file.size(), 8) + number(root, 8));
    return file.replace(0, head.size(), head);
  }

 private:
  std::string messages(uint64_t tree) const {
    std::string space = std::string("\x02", 1) + static_cast<char>(dims.size()) + std::string("\0\x01", 2);
    for (const uint64_t dim : dims) space += number(dim, 8);
    std::string layout = std::string("\x03\x02", 2) + static_cast<char>(dims.size() + 1) + number(tree, 8);
    for (const uint64_t dim : chunk) layout += number(dim, 4);
    layout += number(element_bytes, 4);
    std::string all = message(0x01, space) + message(0x03, type) + message(0x08, layout);
    if (!fill.empty()) all += message(0x05, std::string("\x03\x20", 2) + number(fill.size(), 4) + fill);
    if (filters.empty()) return all;
    std::string pipeline = std::string("\x02", 1) + static_cast<char>(filters.size());
    for (const Filter& filter : filters) {
      pipeline += number(filter.id, 2) + (filter.id >= 256 ? number(0, 2) : "") + number(0, 2) +
                  number(filter.values.size(), 2);
      for (const uint32_t value : filter.values) pipeline += number(value, 4);
    }
    return all + message(0x0b, pipeline);
  }

  std::string chunk_tree(const std::vector<uint64_t>& addresses) const {
    std::string node =
        std::string("TREE\x01\x00", 6) + number(chunks.size(), 2) + number(UINT64_MAX, 8) + number(UINT64_MAX, 8);
    for (size_t i = 0; i < chunks.size(); ++i) {
      node += number(chunks[i].stored.size(), 4) + number(chunks[i].skipped, 4);
      for (const uint64_t begin : chunks[i].begin) node += number(begin, 8);
      node += number(0, 8) + number(addresses[i], 8);
    }
    return node + number(0, 8 + 8 * (dims.size() + 1));
  }
};

inline Buffer hdf5_buffer(const std::string& bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace forebay
