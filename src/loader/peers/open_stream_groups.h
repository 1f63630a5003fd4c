#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "forebay/loader.h"
#include "loader/peers/distributed.h"
#include "stream/ranks/stream_group.h"

namespace forebay {

/// Connects the ranks that read so many streams, as `peers=` says. Each stream has a group of its
/// own, and all groups share one job, whose settings the caller sets. The groups are null if there
/// is one rank, or if the ranks repeat a journal, which each of them reads by itself. InvalidArgument
/// if several ranks have no `peers=`. Also returns the errors of open_job().
Result<std::vector<std::shared_ptr<StreamGroup>>> open_stream_groups(const LoaderOptions& options,
                                                                     const RankInfo& rank_info, size_t streams);

}  // namespace forebay
