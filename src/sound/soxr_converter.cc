#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <soxr.h>

#include "sound/readers.h"

namespace forebay {
namespace {

constexpr int64_t kConvertedBlock = 4096;

struct DeleteConverter {
  void operator()(soxr* converter) const { soxr_delete(converter); }
};

class SoxrConverter final : public RateConverter {
 public:
  SoxrConverter(int64_t from, int64_t to, int64_t channels, AudioSink& next)
      : from_(from), to_(to), channels_(channels), next_(next) {}

  Status begin() {
    // 20 bits: the best quality whose kernels do not depend on the processor's features.
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    const soxr_io_spec_t floats = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    const soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
    soxr_error_t error = nullptr;
    converter_.reset(soxr_create(static_cast<double>(from_), static_cast<double>(to_), static_cast<unsigned>(channels_),
                                 &error, &floats, &quality, &one_thread));
    if (error != nullptr) return unsupported(fmt::format("{} Hz are not brought to {} Hz: {}", from_, to_, error));
    values_.resize(static_cast<size_t>(kConvertedBlock * channels_));
    return {};
  }
  Status frames(const float* values, int64_t count) override {
    taken_ += count;
    while (count > 0) {
      size_t used = 0, made = 0;
      const soxr_error_t error = soxr_process(converter_.get(), values, static_cast<size_t>(count), &used,
                                              values_.data(), kConvertedBlock, &made);
      if (error != nullptr) return internal_error(fmt::format("resampling: {}", error));
      FOREBAY_RETURN_IF_ERROR(deliver(static_cast<int64_t>(made)));
      // Prevents an endless loop if the library is faulty.
      if (used == 0 && made == 0) return internal_error("resampling takes no more samples");
      values += static_cast<int64_t>(used) * channels_;
      count -= static_cast<int64_t>(used);
    }
    return {};
  }

  Status finish() override {
    size_t made = 1;
    while (made > 0) {
      const soxr_error_t error =
          soxr_process(converter_.get(), nullptr, 0, nullptr, values_.data(), kConvertedBlock, &made);
      if (error != nullptr) return internal_error(fmt::format("resampling: {}", error));
      FOREBAY_RETURN_IF_ERROR(deliver(static_cast<int64_t>(made)));
    }
    // The library rounds the number of frames down; it is rounded up here.
    std::fill(values_.begin(), values_.end(), 0.0f);
    while (delivered_ < converted(taken_, from_, to_)) FOREBAY_RETURN_IF_ERROR(deliver(kConvertedBlock));
    return {};
  }

 private:
  Status deliver(int64_t count) {
    // Never gives more than the frames so far convert to, so that the count depends only on their
    // number.
    count = std::min(count, converted(taken_, from_, to_) - delivered_);
    delivered_ += count;
    return count > 0 ? next_.frames(values_.data(), count) : Status();
  }

  int64_t from_, to_, channels_;
  AudioSink& next_;
  int64_t taken_ = 0, delivered_ = 0;
  std::vector<float> values_;
  std::unique_ptr<soxr, DeleteConverter> converter_;
};

}  // namespace

Result<std::unique_ptr<RateConverter>> soxr_converter(int64_t from, int64_t to, int64_t channels, AudioSink& next) {
  if (from > to * kMaxRateRatio || to > from * kMaxRateRatio) {
    return unsupported(
        fmt::format("{} Hz are not brought to {} Hz: more than {} times apart", from, to, kMaxRateRatio));
  }
  auto made = std::make_unique<SoxrConverter>(from, to, channels, next);
  FOREBAY_RETURN_IF_ERROR(made->begin());
  return std::unique_ptr<RateConverter>(std::move(made));
}

}  // namespace forebay
