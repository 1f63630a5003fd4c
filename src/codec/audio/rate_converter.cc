#include "codec/audio/rate_converter.h"

#include <algorithm>

#include <fmt/format.h>
#include <soxr.h>

namespace forebay {
namespace {

constexpr int64_t kConvertedBlock = 4096;

soxr_t of(void* converter) { return static_cast<soxr_t>(converter); }

}  // namespace

void RateConverter::Deleter::operator()(void* converter) const { soxr_delete(of(converter)); }
RateConverter::~RateConverter() = default;

Result<std::unique_ptr<RateConverter>> RateConverter::create(int64_t from, int64_t to, int64_t channels,
                                                             AudioSink& next) {
  if (from > to * kMaxRateRatio || to > from * kMaxRateRatio) {
    return unsupported(
        fmt::format("{} Hz are not brought to {} Hz: more than {} times apart", from, to, kMaxRateRatio));
  }
  std::unique_ptr<RateConverter> made(new RateConverter(from, to, channels, next));
  // 20 bits: of the qualities the best whose kernels are not chosen by what the processor can do.
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  const soxr_io_spec_t floats = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
  soxr_error_t error = nullptr;
  made->converter_.reset(soxr_create(static_cast<double>(from), static_cast<double>(to),
                                     static_cast<unsigned>(channels), &error, &floats, &quality, &one_thread));
  if (error != nullptr) return unsupported(fmt::format("{} Hz are not brought to {} Hz: {}", from, to, error));
  made->values_.resize(static_cast<size_t>(kConvertedBlock * channels));
  return made;
}

Status RateConverter::give(int64_t count) {
  // Never ahead of what the frames so far come to: the number of frames is a function of theirs alone.
  count = std::min(count, converted(taken_, from_, to_) - given_);
  given_ += count;
  return count > 0 ? next_.frames(values_.data(), count) : Status();
}

Status RateConverter::frames(const float* values, int64_t count) {
  taken_ += count;
  while (count > 0) {
    size_t used = 0, made = 0;
    const soxr_error_t error = soxr_process(of(converter_.get()), values, static_cast<size_t>(count), &used,
                                            values_.data(), kConvertedBlock, &made);
    if (error != nullptr) return internal_error(fmt::format("resampling: {}", error));
    FOREBAY_RETURN_IF_ERROR(give(static_cast<int64_t>(made)));
    // So that a fault of the library is no endless loop.
    if (used == 0 && made == 0) return internal_error("resampling takes no more samples");
    values += static_cast<int64_t>(used) * channels_;
    count -= static_cast<int64_t>(used);
  }
  return {};
}

Status RateConverter::finish() {
  size_t made = 1;
  while (made > 0) {
    const soxr_error_t error =
        soxr_process(of(converter_.get()), nullptr, 0, nullptr, values_.data(), kConvertedBlock, &made);
    if (error != nullptr) return internal_error(fmt::format("resampling: {}", error));
    FOREBAY_RETURN_IF_ERROR(give(static_cast<int64_t>(made)));
  }
  // The library rounds the number down where ours is rounded up.
  std::fill(values_.begin(), values_.end(), 0.0f);
  while (given_ < converted(taken_, from_, to_)) FOREBAY_RETURN_IF_ERROR(give(kConvertedBlock));
  return {};
}

}  // namespace forebay
