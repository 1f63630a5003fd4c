#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/loader.h"
#include "serve/wire/archive.h"

namespace forebay {

/// Version of the message formats. Both ends must have the same one.
inline constexpr uint32_t kServeVersion = 3;
inline constexpr uint64_t kServeMagic = 0x3165767265734246;  // "FBserve1"

/// Types of messages. The server answers each request of a client with one message, in order.
/// kFreed has no answer. kSlabs precede the answer that refers to them.
enum class MessageType : uint16_t {
  // Requests of clients.
  kHello = 1,  ///< Hello; the first message, sent once
  kOpen,       ///< OpenRequest → kDone
  kPrepare,
  kNext,       ///< uint32 milliseconds → kBatch, kEnd or kNotYet
  kFreed,      ///< vector of batch numbers
  kInfo,       ///< → kDone with a LoaderInfo
  kSetEpoch,   ///< int64
  kLoadState,  ///< LoadRequest
  kStats,      ///< → kDone with a Ledger
  kErrors,     ///< → kDone with a vector of ErrorEntry
  kDescribe,   ///< → kDone with a SourceInfo
  kBeginTrace,
  kEndTrace,
  kClose,       ///< closes the client's loader; batches stay valid until they are freed
  kStatus,      ///< → kDone with a JSON text
  kStop,        ///< stops the server
  kSetWeights,  ///< map from names of parts to weights
  // Answers of the server.
  kDone = 100,
  kFailed,  ///< Status
  kSlabs,   ///< vector of SlabMessage, with one descriptor for each
  kBatch,   ///< BatchMessage
  kEnd,     ///< EndMessage; an epoch is over
  kNotYet,  ///< no batch was ready in time
};

// Bodies of messages. MessageType names the messages that have them.

struct Hello {
  uint64_t magic = kServeMagic;
  uint32_t version = kServeVersion;
  std::string program;  ///< name of the client's program, for people
};

struct OpenRequest {
  std::string pipeline;  ///< JSON; for user code PortableCode::pipeline
  LoaderOptions options;
  std::string state;                        ///< state at which to begin; empty for the beginning
  int32_t together = 0;                     ///< see ShareOptions::together
  std::string code_source = {};             ///< PortableCode::source
  std::vector<std::string> functions = {};  ///< PortableCode::functions
};

/// Position of a loader.
struct Position {
  int64_t epoch = 0, batches_per_epoch = 0;
  bool finished = false;
  std::string state;
};

struct LoaderInfo {
  Position position;
  int64_t size = 0;
  std::string fingerprint;
};

struct LoadRequest {
  std::string state;
  bool strict = true;
  bool changed_parts = false;  ///< see BatchLoader::load_state_of_changed_parts()
};

struct TraceRequest {
  std::string path;
  uint64_t most_bytes = 0;
};

struct SourceInfo {
  std::vector<FieldDescription> fields;
  std::vector<int64_t> row_groups;
  std::vector<std::string> classes;
  std::vector<DataWarning> warnings;
};

/// Announces memory that the client may map for reading. The message carries its descriptor.
/// Numbers begin at 1.
struct SlabMessage {
  uint64_t number = 0, bytes = 0;
};

/// Location of a tensor. Slab 0 means that the tensor has no memory.
struct TensorLocation {
  uint64_t slab = 0, offset = 0;
  DType dtype = DType::kUint8;
  std::vector<int64_t> shape;
};

struct FieldMessage {
  std::string name;
  BatchField::Kind kind = BatchField::Kind::kDense;
  TensorLocation values, offsets, string_offsets;
  std::vector<int64_t> lengths;
};

struct BatchMessage {
  uint64_t number = 0;  ///< names the batch in kFreed
  std::vector<FieldMessage> fields;
  std::vector<int64_t> ids, positions;
  std::vector<int32_t> parts;  ///< see Batch::parts
  int64_t padding = 0, epoch = 0, step = 0;
  std::optional<int64_t> made_rows;     ///< see Batch::made_rows
  TensorLocation object;                ///< bytes of Batch::object; without shape if it is null
  Position after;                       ///< position after this batch
  std::vector<uint64_t> dropped_slabs;  ///< slabs that no later batch uses
};

struct EndMessage {
  Position after;  ///< position after the end of the epoch
};

/// Encodes a status. Its payload, if it has one, is a PortableObject.
std::string to_message(const Status& status);
Status status_from_message(std::string_view bytes);

// Members of the messages, for MessageWriter and MessageReader.

template <typename Archive>
void fields(Archive& archive, Hello& value) {
  archive(value.magic, value.version, value.program);
}

template <typename Archive>
void fields(Archive& archive, ErrorLimit& value) {
  archive(value.count, value.share);
}

template <typename Archive>
void fields(Archive& archive, LoaderOptions& value) {
  JobOptions& job = value.job;
  ResourceOptions& resources = value.resources;
  archive(value.seed, value.epochs, value.restart, job.rank, job.world_size, resources.threads, resources.requests,
          resources.memory);
  checked_enum(archive, value.errors.on_error, OnError::kReplace);
  checked_enum(archive, job.shard_by, ShardBy::kLocality);
  archive(value.storage_options, job.hosts);
  std::optional<ErrorLimit>& most = value.errors.max_errors;
  bool limited = most.has_value();
  archive(limited);
  if (!limited) return;
  if (!most) most.emplace(int64_t{0});
  archive(*most);
}

template <typename Archive>
void fields(Archive& archive, OpenRequest& value) {
  archive(value.pipeline, value.options, value.state, value.together, value.code_source, value.functions);
}

template <typename Archive>
void fields(Archive& archive, Position& value) {
  archive(value.epoch, value.batches_per_epoch, value.finished, value.state);
}

template <typename Archive>
void fields(Archive& archive, LoaderInfo& value) {
  archive(value.position, value.size, value.fingerprint);
}

template <typename Archive>
void fields(Archive& archive, LoadRequest& value) {
  archive(value.state, value.strict, value.changed_parts);
}

template <typename Archive>
void fields(Archive& archive, TraceRequest& value) {
  archive(value.path, value.most_bytes);
}

template <typename Archive>
void fields(Archive& archive, FieldDescription& value) {
  archive(value.name, value.type, value.shape, value.time, value.of_folder, value.is_mask);
}

template <typename Archive>
void fields(Archive& archive, DataWarning& value) {
  archive(value.kind, value.count, value.first, value.message);
}

template <typename Archive>
void fields(Archive& archive, SourceInfo& value) {
  archive(value.fields, value.row_groups, value.classes, value.warnings);
}

template <typename Archive>
void fields(Archive& archive, ErrorEntry& value) {
  archive(value.sample, value.key, value.op, value.code, value.message, value.count);
}

template <typename Archive>
void fields(Archive& archive, SlabMessage& value) {
  archive(value.number, value.bytes);
}

template <typename Archive>
void fields(Archive& archive, TensorLocation& value) {
  archive(value.slab, value.offset);
  checked_enum(archive, value.dtype, DType{kDTypeCount - 1});
  archive(value.shape);
}

template <typename Archive>
void fields(Archive& archive, FieldMessage& value) {
  archive(value.name);
  checked_enum(archive, value.kind, BatchField::Kind::kTextList);
  archive(value.values, value.offsets, value.string_offsets, value.lengths);
}

template <typename Archive>
void fields(Archive& archive, BatchMessage& value) {
  archive(value.number, value.fields, value.ids, value.positions, value.parts, value.padding, value.epoch, value.step);
  archive(value.made_rows, value.object, value.after, value.dropped_slabs);
}

template <typename Archive>
void fields(Archive& archive, EndMessage& value) {
  archive(value.after);
}

}  // namespace forebay
