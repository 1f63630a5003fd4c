#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "base/source.h"
#include "pipeline/batch_job.h"
#include "pipeline/cache_stage.h"
#include "pipeline/chunk_table.h"
#include "pipeline/execution_plan.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// What becomes of samples that are bad in themselves (is_data_error).
enum class BadSample : uint8_t { kRaise, kSkip, kReplace };

/// What a read for a row's sample brings.
enum class Asks : uint8_t {
  kBytes,           ///< the object, or the entry of the cache
  kVersion,         ///< whether the object has changed
  kVersionOfOther,  ///< which version of the object another host of the job has read
};

/// What is at hand of the samples of some rows; nothing at first.
struct RowsAtHand {
  size_t stage = 0;  ///< next stage to run
  bool fetched_all = false;
  Buffer fetched;
  // Where single samples are kept in a cache:
  bool looked_up = false;                      ///< the next four say what it has
  int64_t entry_id = -1;                       ///< the sample that was looked up,
  std::optional<Identity> entry;               ///< what the cache knows it by,
  size_t entry_stage = 0;                      ///< and which of the stages that is
  std::shared_ptr<const Columns> kept;         ///< in memory
  std::optional<SampleSource::Fetch> kept_at;  ///< on disk: fetched in place of the object
  // Where single samples are kept and the entry is missing:
  std::optional<Hash128> flight_key;             ///< by which others know that the entry is being made
  std::unique_ptr<SingleFlight::Flight> making;  ///< the right to make it
  bool beside = false;                           ///< it is made without that right, since its maker rests
  // Where versions of objects are learned from answers:
  Asks asks = Asks::kBytes;
  std::optional<SampleSource::Fetch> version_at;   ///< where that is asked, unless it is kBytes
  std::shared_ptr<std::atomic<uint64_t>> version;  ///< of what was fetched; 0: not told
  Record record;                                   ///< between stages
  Extras extras;

  bool in_cache() const { return kept || kept_at; }
};

/// Rows of a batch that are worked on together. Belongs to the thread that works on it.
struct RowInput : RowsAtHand {
  int64_t begin = 0, end = 0;  ///< rows
  // Learned by tries that had to begin anew:
  uint64_t size = 0;           ///< of the object, where it was larger than guessed
  bool entry_is_cold = false;  ///< the cache's entry was not at hand: it is fetched, also where nothing else is

  /// Begins anew.
  void give_back() { static_cast<RowsAtHand&>(*this) = RowsAtHand(); }
};

/// What rows stand in.
struct RowPlacement {
  const ChunkBlock* block = nullptr;  ///< of chunks that are there; null where rows are read one by one
  std::span<const uint32_t>
      rows_by_block{};           ///< what `begin` to `end` are numbers in; empty: they are the batch's rows
  bool outlasts_chunks = false;  ///< the batch will be put together when the chunks may be gone

  int64_t row(int64_t index) const { return rows_by_block.empty() ? index : rows_by_block[static_cast<size_t>(index)]; }
};

/// What comes next for rows that were worked on.
enum class Verdict : uint8_t {
  kDone,        ///< they are in their places in the batch, or left out
  kNeedsBytes,  ///< of working memory: again, with RowResult::needs_bytes
  kElsewhere,   ///< replacements are in none of the block's chunks: RowResult::elsewhere
  kCold,        ///< the object is not in the page cache: it has to be read without a thread that waits
  kAgain,  ///< to be looked up and fetched anew: a replacement, what was damaged in the cache, what is known by its version now
  kForeign,  ///< user code is next
  kFatal,    ///< RowResult::fatal, of the machine, or transient: the batch cannot be
};

struct RowResult {
  Verdict verdict = Verdict::kDone;
  std::vector<RowError> errors;  ///< samples that are bad in themselves, by policy
  Status fatal;
  bool unread = false;  ///< fatal: storage was away as its bytes, or its chunk's, were asked for by a compute thread
  uint64_t needs_bytes = 0;
  Store* warm = nullptr;           ///< where bytes were read from without waiting
  int64_t made_again = 0;          ///< old samples that were not where a rehearsal keeps them
  Buffer copied;                   ///< lists that were taken out of their chunks
  std::vector<int64_t> elsewhere;  ///< ids
};

/// What compute threads do with rows: read them (if that takes no waiting), run the stages, write them into the batch. Knows no
/// schedule and takes no lock: any number of threads may run different rows, of one batch or several.
class RowWork {
 public:
  RowWork(std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<const Itinerary> itinerary, BadSample policy);

  /// Never throws. Rows that ask for more memory than `memory` grants have to run again from the start, and so are not changed
  /// but for samples that were found bad.
  RowResult run(RowInput& input, BatchJob& batch, const RowPlacement& at, WorkMemory& memory) const;

  /// What a failure of a row's sample means, for the sample or for the batch.
  void fail(BatchJob& batch, int64_t row, Status status, RowResult& result) const;
  /// Asks the cache, once, what it has of the sample. Where an entry is missing that others may be making, that is only done (`looked_up`) once the
  /// row has the right to make it, or makes it beside another.
  void look_up(RowInput& input, const BatchJob& batch) const;
  /// Entries of single samples that are being made in this process; null where none are kept.
  SingleFlight* flights() const { return flights_.get(); }
  /// Whether an entry that look_up() missed has been put since.
  bool is_kept_now(const RowInput& input) const;
  /// The object's bytes as the maker of its entry has them.
  void take_stored(RowInput& input, SingleFlight::Stored stored) const;
  /// Whether what came of it is kept where a rehearsal comes in, and the row is an old one; also after look_up(), as new rows are made meanwhile.
  bool look_up_old(RowInput& input, const BatchJob& batch) const;
  /// What has to be read: the object, or the entry in the cache.
  SampleSource::Fetch fetch_of(const RowInput& input, const BatchJob& batch) const;
  /// The status with the sample's name.
  Status locate(Status status, int64_t id) const;

 private:
  RowResult gather(BatchJob& batch, const RowInput& input) const;
  RowResult run_stages(RowInput& input, BatchJob& batch, const RowPlacement& at, WorkMemory& memory) const;
  bool read(RowInput& input, BatchJob& batch, RowResult& result) const;
  std::optional<Identity> identify(const CacheStage& stage, int64_t id) const;
  void ask_version(RowInput& input) const;
  void learn_version(const RowInput& input) const;
  bool open_kept(RowInput& input) const;
  Status run_row(RowInput& input, BatchJob& batch, const RowPlacement& at, int64_t row, WorkMemory& memory,
                 RowResult& result) const;
  Status check_packed_alone(const Extras& extras) const;
  Result<Record> begin_row(RowInput& input, const RowPlacement& at, int64_t id) const;
  Status write_row(BatchJob& batch, const RowPlacement& at, int64_t row, Record& record, WorkMemory& memory) const;
  const CacheStage& cache_of(const RowInput& input) const {
    return std::get<CacheStage>(plan_->stages[input.entry_stage]);
  }
  Status keep_row(const CacheStage& stage, RowInput& input, int64_t id, Record& record, WorkMemory& memory) const;
  Status rehearse_row(const CacheStage& stage, const BatchJob& batch, int64_t row, const Extras& extras, Record& record,
                      WorkMemory& memory, RowResult& result) const;
  /// Once the rows do not run again: each try makes their samples again.
  void count_made_again(const RowResult& result) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
  const std::shared_ptr<const Itinerary> itinerary_;
  const BadSample policy_;
  const std::shared_ptr<SingleFlight> flights_;
  std::vector<StepCounters*> counters_;  // by the numbers that StepMeter knows steps by; 0 is what writes the batch
  std::vector<std::string_view> names_;  // of the steps, likewise
  std::vector<int> first_step_;          // of each stage
};

/// What is wrong with a row of a chunk that is there.
Status chunk_row_status(const Chunk& chunk, int64_t row);

}  // namespace forebay
