#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/items.h"
#include "cluster/transport.h"
#include "stream/decision.h"

namespace forebay {

/// The name under which a rank serves the others of its stream.
inline constexpr std::string_view kStreamServiceName = "stream";

/// One item of a request: a decision, a record, or the notes of a partition.
struct RankItem {
  size_t partition = 0;  ///< 0 in requests that are not about partitions
  uint64_t number = 0;   ///< see RankRequest::Kind
};

/// A request from one rank of a stream to another.
struct RankRequest {
  enum class Kind : uint8_t {
    kDecision,       ///< to rank 0: the decision that begins with that record; one item
    kBeginning,      ///< to rank 0: the offsets after which the run begins
    kSignOfLife,     ///< to rank 0: this rank is alive; the response is empty
    kGoodbye,        ///< this rank will request nothing more; the response is empty
    kReplayRecords,  ///< records of a rank's replay buffer, by number: ReplayRecords::bytes_of()
    /// The notes of partitions from that number on: RecordShelf::notes(). Their state is kComing if
    /// there are none yet, and kAbsent if they were dropped.
    kNotes,
    /// Records that a rank has read for all ranks, by RecordShelf::hash_of() their offset.
    kLogRecords,
  };
  Kind kind = Kind::kSignOfLife;
  int rank = 0;  ///< the rank that sends the request
  /// How many runs all ranks have begun. Record numbers alone do not tell runs apart.
  uint64_t run = 0;
  std::vector<RankItem> items = {};
  /// For kDecision: the number of its first record.
  int64_t first() const { return static_cast<int64_t>(items.front().number); }
};

Buffer encode_rank_request(const RankRequest& request);
/// Corrupt for bytes that encode_rank_request() does not make.
Result<RankRequest> parse_rank_request(std::span<const uint8_t> bytes);

/// The response of rank 0 to a request for a decision or for the beginning of the run.
struct LeaderResponse {
  enum class Kind : uint8_t {
    kNotYet,          ///< the decision is not made yet
    kInAnotherRun,    ///< rank 0 is in the run `run`
    kNoSuchDecision,  ///< no decision begins there, or it was dropped
    kEnd,             ///< the stream ends there
    kBeginning,       ///< the run begins after the offsets `after`, one for each partition
    kDecision,        ///< `decision`
  };
  Kind kind = Kind::kNotYet;
  uint64_t run = 0;
  std::vector<std::string> after = {};
  Decision decision = {};
};

Buffer encode_leader_response(const LeaderResponse& response);
/// Corrupt if the message was damaged in transfer, or is of another kind.
Status check_leader_response(std::span<const uint8_t> bytes);
/// Corrupt for bytes that encode_leader_response() does not make for a log of `partitions`
/// partitions. Offsets are not checked here, but by the log.
Result<LeaderResponse> parse_leader_response(std::span<const uint8_t> bytes, size_t partitions);

/// The response to a request of that kind, with one item for each item of the request.
Response encode_rank_items(RankRequest::Kind kind, std::vector<FoundItem> found);
Result<std::vector<ResponseItem>> parse_rank_items(RankRequest::Kind kind, size_t count, const Buffer& response);
uint64_t max_rank_items_bytes(RankRequest::Kind kind, size_t count);

/// The maximal number of items of one request.
inline constexpr size_t kMaxRankItems = 1024;
inline constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;
/// The notes of one item: about a thousand, with offsets below 1 KB.
inline constexpr uint64_t kMaxNoteBytes = uint64_t{4} << 20;
/// A decision takes tens of bytes for each partition, and a topic may have thousands of partitions.
inline constexpr uint64_t kMaxLeaderBytes = uint64_t{16} << 20;

/// The deadline of one call. A lost call is repeated; a repeated call has the same answer.
inline constexpr std::chrono::milliseconds kRankDeadline{1000};

}  // namespace forebay
