#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/schema.h"
#include "format/webdataset/read_indexes.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_index.h"
#include "store/store.h"

namespace forebay {

/// A field of the samples. Its value is the file with the first of these extensions that a sample
/// has.
struct ShardField {
  std::string name;
  std::vector<std::string> extensions;
  bool optional = false;  ///< a sample may lack it; a bool field `<name>_valid` says so
  ExtensionKind kind() const { return kind_of_extension(extensions.front()); }
};

/// The columns of samples with these fields: each field, `<name>_valid` after an optional one, and
/// `key` last.
Schema schema_of(std::span<const ShardField> fields);

/// All shards of a data set, divided into chunks of consecutive samples of one shard that are read
/// together. Takes a few dozen bytes per chunk, however many samples it has. Immutable once made.
struct ShardChunks {
  struct Shard {
    std::string key;
    uint64_t size = 0, version = 0;
    int64_t first_id = 0;
    /// Number of samples that repeat the name of an earlier, non-adjacent sample.
    uint64_t apart = 0;
  };
  struct Chunk {
    uint32_t shard = 0;
    uint32_t name_bytes = 0;  ///< total length of its samples' base names; at most 4 GiB - 1
    int64_t first_id = 0;
    uint64_t begin = 0, end = 0;  ///< byte range in the shard
    uint32_t first_link = 0;      ///< index in `links` of its first link
  };
  /// A file of a sample that is a link, with the range of the file that it leads to in the same
  /// shard.
  struct Link {
    uint64_t data = 0, bytes = 0;
    bool found = false;
  };

  std::shared_ptr<Store> store;
  std::vector<ShardField> fields;
  std::vector<Shard> shards;
  std::vector<Chunk> chunks;
  std::vector<Link> links;  ///< in the order of the shards
  ShardIndexOptions index_options;
  std::vector<uint64_t> field_bytes;  ///< for each chunk, the bytes of each field
  int64_t samples = 0;
  Hash128 version;

  int64_t rows(size_t chunk) const { return first_id(chunk + 1) - first_id(chunk); }
  int64_t first_id(size_t chunk) const { return chunk < chunks.size() ? chunks[chunk].first_id : samples; }
  std::span<const uint64_t> bytes_of_fields(size_t chunk) const {
    return std::span(field_bytes).subspan(chunk * fields.size(), fields.size());
  }
  const Shard& shard_of(int64_t id) const;
  std::span<const Link> links_of(size_t chunk) const;
  /// The ranges to read in addition to the chunk's own: the files that its links lead to, each with
  /// the header block before its data.
  std::vector<ByteRange> linked_ranges(size_t chunk) const;
  std::string shard_name(size_t shard) const { return store->display_name(shards[shard].key); }
  /// Such as "train/000.tar, bytes 0 to 8388608".
  std::string chunk_name(size_t chunk) const;
  uint64_t index_bytes() const;

  /// Appends a shard, divided into chunks of at most `chunk_bytes`. A larger sample is a chunk of
  /// its own.
  void add(Shard shard, const TarIndex& index, uint64_t chunk_bytes);
};

}  // namespace forebay
