#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/branch_plan.h"
#include "pipeline/description.h"
#include "plan/order.h"
#include "plan/packing.h"
#include "plan/shard_assignment.h"

namespace forebay {

class ChunkSource;

/// Number of chunks whose rows are mixed if `shuffle` does not set it.
constexpr int64_t kDefaultBlock = 8;

/// The order of a selection's samples, and how ranks share them.
struct Ordering {
  std::shared_ptr<const Order> order;
  std::shared_ptr<const ShardAssignment> assignment;
  std::string assignment_name = "count";  ///< name of the shard assignment in messages about ranks
  int64_t block = 1;                      ///< number of chunks whose rows are mixed
  int64_t lanes = 1;                      ///< number of spans of chunks; a host owns whole spans
  bool in_groups = false;                 ///< rows are read in chunks of many rows
};

/// Returns the number of selected rows of each chunk.
std::vector<int64_t> selected_rows(const ChunkSource& source, const Selection& selection);
/// Selects all samples of a source except those that the source's own filter leaves out.
std::shared_ptr<const Selection> select_all(const Source& source);
/// Selects any record of a stream. A record's number is its id. The number of records is unknown;
/// the selection has size 1, so that sizing can estimate from one sample.
std::shared_ptr<const Selection> records_of_stream();
/// Returns the samples of `from` that a step chooses by their numbers or keys, or `from` if the
/// step is of another kind. The keys of a null source are unknown, and choose all.
std::shared_ptr<const Selection> choose_unread(const OpSpec& step, const Source* source,
                                               std::shared_ptr<const Selection> from);

/// Returns the samples that a description selects, as far as this is known without reading rows:
/// samples that a `.filter()` drops are still included. `source` may be null if only the size is
/// known.
std::shared_ptr<const Selection> select_unread(const Description& description, const Source* source, int64_t size);

/// Chooses the order. `shuffle` is the step of the description, or null. Sources with chunks of
/// many rows are shuffled blockwise, all others sample by sample.
Result<Ordering> choose_order(const OpSpec* shuffle, const Source& source, const Selection& selection, uint64_t seed);
/// The same if only the chunks are known. `chunks` is null if samples are read one by one.
Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                              uint64_t seed);
/// The same for the blocks of a packing. `chunks` is null if samples are read one by one; otherwise
/// the blocks of one chunk stay together.
Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Packing& packing, uint64_t seed);

/// Draws of the samples of a selection.
struct WeightedDraws {
  int64_t count = 0;                 ///< in an epoch
  std::vector<double> weights = {};  ///< by index in the selection; empty: all alike
  bool once = false;                 ///< no sample comes twice in an epoch
};
/// The order of draws. Those of samples in chunks stay together as the rows of chunks do.
/// InvalidArgument as for drawn_order().
Result<Ordering> choose_drawn_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                                    uint64_t seed, const WeightedDraws& draws);

/// Classes in equal shares of an epoch.
struct BalancedDraws {
  int64_t count = 0;              ///< in an epoch
  std::vector<int32_t> class_of;  ///< by index in the selection; below 0: left out
};
/// The order of such draws. Samples that are read one by one are in balanced_order(). Those of
/// chunks are drawn by weight, so that chunks stay together.
Result<Ordering> choose_balanced_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                                       uint64_t seed, const BalancedDraws& draws);

/// The order of the first `count` selected samples, as if the data set had no others: chunks behind
/// them are left out.
Result<Ordering> choose_order_of_first(const OpSpec* shuffle, const ChunkSource* chunks,
                                       std::shared_ptr<const Selection> selection, int64_t count, uint64_t seed);

/// Returns the most lanes whose rows one rank reads, including lanes that it shares with a
/// neighbour. The bound holds if the number of rows in the batches of all ranks is a multiple of
/// the lanes. Otherwise rows move between ranks (rows_that_move()), and a rank may read from more
/// lanes.
int64_t lanes_of_rank(const Ordering& ordering, int64_t world_size);
/// Logs a warning if there are fewer lanes than ranks. `part`: name of the part that has the table;
/// empty if there are no parts.
void warn_of_shared_lanes(const Ordering& ordering, int64_t world_size, const std::string& part = "");

}  // namespace forebay
