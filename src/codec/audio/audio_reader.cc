#include <fmt/format.h>

#include "codec/audio/audio.h"

namespace forebay {
namespace {

// Checks that the number of frames is as announced: no more, for which there is no memory, and no
// fewer.
class AnnouncedFrames final : public AudioSink {
 public:
  AnnouncedFrames(AudioSink& next, std::optional<int64_t> announced) : next_(next), announced_(announced) {}
  Status frames(const float* values, int64_t count) override {
    if (announced_ && count > *announced_ - delivered_) {
      return corrupt(fmt::format("the header says {} samples a channel, and there are more", *announced_));
    }
    delivered_ += count;
    return next_.frames(values, count);
  }
  Status end() const {
    if (!announced_ || delivered_ == *announced_) return {};
    return corrupt(fmt::format("ends after {} of {} samples a channel", delivered_, *announced_));
  }

 private:
  AudioSink& next_;
  std::optional<int64_t> announced_;
  int64_t delivered_ = 0;
};

}  // namespace

Status AudioReader::read(AudioSink& sink) {
  AnnouncedFrames announced(sink, info_.frames);
  FOREBAY_RETURN_IF_ERROR(read_frames(announced));
  return announced.end();
}

}  // namespace forebay
