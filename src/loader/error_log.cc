#include "loader/error_log.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "loader/samples/pass_results.h"

namespace forebay {

static_assert(PassResults::kMaxTexts >= ErrorLog::kMaxEntries,
              "a pass of another loader fills the log as its own does");

bool SampleSet::add(uint16_t branch, int64_t id) {
  std::bitset<kBlock>& block = blocks_[{branch, id / kBlock}];
  const auto bit = static_cast<size_t>(id % kBlock);
  if (block[bit]) return false;
  block[bit] = true;
  ++size_;
  return true;
}

void SampleSet::clear() {
  blocks_.clear();
  size_ = 0;
}

Status ErrorLog::add(int64_t epoch, const RowError& error) {
  ++total_;
  // Entries are per sample and operator, so a sample that fails in each epoch is one entry.
  const auto [found, fresh] = index_.try_emplace({error.branch, error.id, error.status.op()}, entries_.size());
  if (!fresh) {
    ++entries_[found->second].count;
  } else if (entries_.size() < kMaxEntries) {
    entries_.push_back({error.id, error.status.key(), error.status.op(), std::string(code_name(error.status.code())),
                        error.status.message(), 1});
  } else {
    // The list is bounded; total() still counts the error.
    index_.erase(found);
  }
  if (!limit_) return {};
  // Batches come in order, so an epoch comes back only after seek(), which restarts the count
  // too.
  if (epoch != std::exchange(epoch_, epoch)) bad_.clear();
  bad_.add(error.branch, error.id);
  // The limit is on different samples: a sample that is replaced again and again counts once.
  if (bad_.size() <= *limit_) return {};
  Status status(error.status.code(),
                fmt::format("{} (bad sample number {} of this {}; max_errors allows {})", error.status.message(),
                            bad_.size(), epoch == kFilterPass ? "filter" : "epoch", *limit_));
  status = std::move(status).with_key(error.status.key()).with_operator(error.status.op()).with_sample(error.id);
  return error.status.payload() ? std::move(status).with_payload(error.status.payload()) : status;
}

BadSample bad_sample(OnError policy) {
  if (policy == OnError::kSkip) return BadSample::kSkip;
  return policy == OnError::kReplace ? BadSample::kReplace : BadSample::kRaise;
}

Result<std::optional<int64_t>> error_limit(const std::optional<ErrorLimit>& max_errors, int64_t size) {
  if (!max_errors) return std::optional<int64_t>();
  const std::optional<double> share = max_errors->share;
  if (share && !(*share >= 0 && *share <= 1)) {
    return invalid_argument(
        fmt::format("max_errors={} is no share of the data set; give 0.0 to 1.0, or a count", *share));
  }
  if (!share && max_errors->count < 0)
    return invalid_argument(
        fmt::format("max_errors={} is negative; give a count, or a share (0.0 to 1.0)", max_errors->count));
  if (!share) return max_errors->count < size ? std::optional<int64_t>(max_errors->count) : std::nullopt;
  const double product = *share * static_cast<double>(size);
  // A product that is off by its last bits must not lose a sample.
  const double count = std::floor(product + product * 0x1p-51);  // 0.29 of 100 are 29
  return count < static_cast<double>(size) ? std::optional<int64_t>(static_cast<int64_t>(count)) : std::nullopt;
}

}  // namespace forebay
