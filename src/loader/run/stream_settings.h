#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/run_terms.h"
#include "loader/run/run.h"
#include "stream/record_log.h"
#include "stream/replay_disk.h"
#include "stream/stream_options.h"

namespace forebay {

// What a pipeline's description and the loader's options say about a stream. The functions keep no
// state; StreamRun calls them on the consumer's thread while it opens.

/// InvalidArgument if an option does not apply to streams.
Status check_stream_options(const LoaderOptions& options);

/// The options of a stream, from `.buffer()`, `.shuffle()` and the source. `step_records`: records
/// of one step over all ranks, about. Does not open the disk space of policy="spill".
StreamOptions stream_options_of(const Description& description, const LoaderOptions& options, int64_t step_records);

/// Whether a run retains samples for a replay, in addition to those of the next steps. `description`
/// is the stream's. A run has one replay buffer, for all of its parts.
bool retains_records(const Description& description);

/// Opens the disk space for records that a replay retains. Null if the system's temporary folder is
/// unusable and the user named no other: all retained records then stay in memory.
Result<std::shared_ptr<ReplayDisk>> open_replay_disk(const Description& description);

/// Opens the disk space for records that policy="spill" moves out of memory. InvalidArgument if the
/// records of this log cannot be written to a disk.
Result<std::shared_ptr<SpillSpace>> open_spill_space(const Description& description, const RecordLog& log);

/// The settings of a stream that must be equal on all ranks: they decide which records come next, and
/// what ranks exchange. `log` is the stream's. `part` is the name of the part that it is, or "".
std::vector<RunTerms::Term> settings_of_stream(const Description& description, const StreamOptions& options,
                                               const RecordLog& log, const std::string& part);

/// All settings that the ranks of a run over streams must share: those that decide which rank has
/// which record and how many steps there are, and those of each stream.
RunTerms stream_terms(const RunInput& input, const std::vector<std::vector<RunTerms::Term>>& streams);

}  // namespace forebay
