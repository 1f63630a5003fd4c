#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forebay/loader.h"
#include "plan/order.h"

namespace forebay {

/// Whole epochs of a loader as one order: for plans that follow from values that are read. Positions
/// are those of the delivery to a single rank. Ids number the samples that come in these epochs, by
/// part and by their ids there. Four bytes a row.
class PlannedEpochs final : public Order {
 public:
  /// `plans`: of a single rank, whole. Epochs from the number of plans on are not known. Repeats
  /// that fill up a last batch are left out.
  explicit PlannedEpochs(std::span<const EpochPlan> plans, size_t parts);

  int64_t size() const override { return static_cast<int64_t>(rows_.front().size()); }
  int64_t ids() const override { return static_cast<int64_t>(samples_.size()); }
  bool permutes() const override { return false; }  // unknown
  int64_t id_at(int64_t epoch, int64_t position) const override {
    return rows_[static_cast<size_t>(epoch)][static_cast<size_t>(position)];
  }
  int64_t position_of(int64_t epoch, int64_t id) const override;
  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override;

  /// The id of a part's first sample, and the number of all ids.
  const std::vector<int64_t>& begins() const { return begins_; }
  /// The id of a sample in its part.
  int64_t id_in_part(int64_t id) const { return samples_[static_cast<size_t>(id)].id; }
  /// The ends of the batches of an epoch.
  const std::vector<std::vector<int64_t>>& batch_ends() const { return ends_; }

 private:
  struct Sample {
    int32_t part = 0;
    int64_t id = 0;
    friend auto operator<=>(const Sample&, const Sample&) = default;
  };
  template <typename Visit>
  static void for_each_row(const EpochPlan& plan, const Visit& visit);

  std::vector<Sample> samples_;              // by id, ascending
  std::vector<int64_t> begins_;              // by part
  std::vector<std::vector<uint32_t>> rows_;  // ids by position, of each epoch
  std::vector<std::vector<int64_t>> ends_;
  std::vector<uint32_t> first_positions_;  // of each id in epoch 0, or size()
};

}  // namespace forebay
