#include "loader/peers/open_stream_groups.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/peers/open_job.h"

namespace forebay {

Result<std::vector<std::shared_ptr<StreamGroup>>> open_stream_groups(const LoaderOptions& options,
                                                                     const RankInfo& rank_info, size_t streams) {
  std::vector<std::shared_ptr<StreamGroup>> groups(streams);
  if (!options.stream.journal.empty()) return groups;
  if (rank_info.world_size > 1 && !peers_requested(options.job.peers))
    return invalid_argument(
        fmt::format("the {} ranks of a stream must hear from rank 0 which records come next: give peers=, such as "
                    "\"launcher\" or a folder that they share",
                    rank_info.world_size));
  std::vector<std::pair<std::string, std::shared_ptr<StreamService>>> services;
  Services served;
  for (size_t i = 0; i < streams; ++i) {
    services.emplace_back(fmt::format("{}{}", kStreamServiceName, i), std::make_shared<StreamService>());
    served.insert(services.back());
  }
  FOREBAY_ASSIGN(const std::shared_ptr<Job> job,
                 open_job(options.job.peers, rank_info, std::move(served), options.stop));
  for (size_t i = 0; job && i < streams; ++i)
    groups[i] = std::make_shared<StreamGroup>(job, services[i].second, services[i].first);
  return groups;
}

}  // namespace forebay
