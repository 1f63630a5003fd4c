#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/schema.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_index.h"
#include "store/store.h"

namespace forebay {

/// A field of the samples: the first of these extensions that a sample has.
struct ShardField {
  std::string name;
  std::vector<std::string> extensions;
  bool optional = false;  ///< a sample may lack it; a bool field `<name>_valid` says so
  ExtensionKind kind() const { return kind_of_extension(extensions.front()); }
};

/// The fields that a sample gives for these: each, `<name>_valid` behind an optional one, and `key` as the last.
Schema schema_of(std::span<const ShardField> fields);

/// All shards of a data set, cut into chunks: samples that follow each other in one shard and are read together. A few dozen bytes a chunk,
/// however many samples there are. Immutable once made.
struct ShardChunks {
  struct Shard {
    std::string key;
    uint64_t size = 0, version = 0;
    int64_t first_id = 0;
    uint64_t apart = 0;  ///< samples that bear the name of an earlier one, with others between
  };
  struct Chunk {
    uint32_t shard = 0;
    uint32_t name_bytes = 0;  ///< of the base names of its samples, all together; at most 4 GiB - 1
    int64_t first_id = 0;
    uint64_t begin = 0, end = 0;  ///< bytes of the shard
    uint32_t first_link = 0;      ///< of `links`
  };
  /// A file of a sample that is a link, with the place of the bytes that it leads to, in the same shard.
  struct Link {
    uint64_t data = 0, bytes = 0;
    bool found = false;
  };

  std::shared_ptr<Store> store;
  std::vector<ShardField> fields;
  std::vector<Shard> shards;
  std::vector<Chunk> chunks;
  std::vector<Link> links;  ///< in the order of the shards
  NameSplit split = NameSplit::kFirstDot;
  std::vector<uint64_t> field_bytes;  ///< chunk by chunk, of each field
  int64_t samples = 0;
  Hash128 version;

  int64_t rows(size_t chunk) const { return first_id(chunk + 1) - first_id(chunk); }
  int64_t first_id(size_t chunk) const { return chunk < chunks.size() ? chunks[chunk].first_id : samples; }
  std::span<const uint64_t> bytes_of_fields(size_t chunk) const {
    return std::span(field_bytes).subspan(chunk * fields.size(), fields.size());
  }
  std::span<const Link> links_of(size_t chunk) const;
  /// What is read beside a chunk's own bytes: the files that its links lead to, each with the header block before its data.
  std::vector<ByteRange> linked_ranges(size_t chunk) const;
  std::string shard_name(size_t shard) const { return store->display_name(shards[shard].key); }
  /// "train/000.tar, bytes 0 to 8388608".
  std::string chunk_name(size_t chunk) const;
  uint64_t index_bytes() const;

  /// The next shard, with chunks of at most `chunk_bytes`; a larger sample is a chunk by itself.
  void add(Shard shard, const TarIndex& index, uint64_t chunk_bytes);
};

}  // namespace forebay
