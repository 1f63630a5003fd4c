#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace forebay::bench {

using Json = nlohmann::ordered_json;

constexpr int64_t kSide = 224, kPixels = kSide * kSide, kFloats = 3 * kPixels;

struct Photograph {
  std::string path, kind;
  std::vector<uint8_t> bytes;
};

/// One batch of the bare loop.
struct LoopBatch {
  float* images = nullptr;  // fresh memory: its pages appear as they are first written
  std::vector<int64_t> ids;
  std::atomic<int64_t> left{0};
};

/// What bench/photos_run.py notes of other loaders: which photographs, and statistics of their pixels.
class Proof {
 public:
  /// `stride` 32 touches about as little as proves delivery; 1 reads everything.
  Proof(const std::vector<Photograph>& photographs, bool pixels, int64_t stride)
      : photographs_(photographs), pixels_(pixels), stride_(stride) {}

  void add(const LoopBatch& batch, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row) {
      ids_.push_back(batch.ids[static_cast<size_t>(row)]);
      if (!pixels_) continue;
      if (stride_ == 1) {
        digest_.update_value(ids_.back());
        digest_.update(batch.images + row * kFloats, kFloats * sizeof(float));
      }
      for (int64_t c = 0; c < 3; ++c) add_plane(batch.images + row * kFloats + c * kPixels, static_cast<size_t>(c));
    }
  }

  Json to_json() const {
    std::vector<int64_t> distinct = ids_;
    std::ranges::sort(distinct);
    const auto repeated = std::ranges::unique(distinct);
    distinct.erase(repeated.begin(), repeated.end());
    std::map<std::string, int64_t> kinds;
    for (const int64_t id : ids_) ++kinds[photographs_[static_cast<size_t>(id)].kind];
    Json json = {{"samples", ids_.size()},
                 {"distinct", distinct.size()},
                 {"per_class", kinds},
                 {"order", hash128(ids_.data(), ids_.size() * sizeof(int64_t)).to_string()},
                 {"problems", Json::array()}};
    if (distinct.size() != photographs_.size()) json["problems"].push_back("not every photograph came once");
    if (std::ranges::is_sorted(ids_)) json["problems"].push_back("the order is not shuffled");
    if (pixels_) add_statistics(json);
    return json;
  }

 private:
  void add_plane(const float* plane, size_t channel) {
    for (int64_t y = stride_ / 2; y < kSide; y += stride_) {
      for (int64_t x = stride_ / 2; x < kSide; x += stride_) {
        const double value = plane[y * kSide + x];
        sum_[channel] += value;
        squares_[channel] += value * value;
        count_ += channel == 0;
      }
    }
    if (stride_ > 1) return;
    for (int64_t y = 0; y < kSide; y += 4) {
      for (int64_t x = 1; x < kSide; ++x) steps_ += std::abs(plane[y * kSide + x] - plane[y * kSide + x - 1]);
    }
  }

  void add_statistics(Json& json) const {
    const auto count = static_cast<double>(count_);
    std::vector<double> mean, deviation;
    for (size_t c = 0; c < 3; ++c) {
      mean.push_back(sum_[c] / count);
      deviation.push_back(std::sqrt(squares_[c] / count - mean[c] * mean[c]));
    }
    json["shapes"] = {{3, kSide, kSide}};
    json["dtypes"] = {"float32"};
    json["mean"] = mean;
    json["std"] = deviation;
    if (stride_ > 1) return;
    json["detail"] = steps_ / (static_cast<double>(ids_.size()) * 3 * (kSide / 4) * (kSide - 1));
    // That of `forebay run` for the example's pipeline with .select("image"), where the list is in the order of the keys.
    json["digest"] = digest_.digest().to_string();
  }

  const std::vector<Photograph>& photographs_;
  const bool pixels_;
  const int64_t stride_;
  std::vector<int64_t> ids_;
  Hasher digest_;
  double sum_[3] = {}, squares_[3] = {}, steps_ = 0;
  int64_t count_ = 0;
};

}  // namespace forebay::bench
