// What a broken or hostile Redis answers: entries whose parts lie inside of the answer, or a reason.
#ifdef FOREBAY_WITH_REDIS
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "brokers/redis/redis_answers.h"
#include "stream/named_values.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void look_at(const RedisReply& reply) {
  for (size_t i = 0; i < reply.size(); ++i) {
    require(reply.behind(i) > i && reply.behind(i) <= reply.size(), "an array ends within the answer");
    if (reply.is(i, RedisReply::Kind::kString)) (void)reply.text(i).find('x');
  }
  const auto streams = read_entries(reply);
  require(streams.ok() || streams.status().code() == Code::kCorrupt, "what is no answer is Corrupt");
  if (streams.ok()) {
    for (const StreamEntries& stream : *streams) {
      for (const StreamEntry& entry : stream.entries) {
        if (entry.last < entry.first) continue;
        const auto values = named_values(reply.strings(entry.first, entry.last).span());
        require(values.ok() && values->size() == (entry.last - entry.first + 1) / 2, "an entry is names and values");
      }
    }
  }
  const auto info = read_stream_info(reply);
  require(info.ok() || info.status().code() == Code::kCorrupt, "what is no answer is Corrupt");
  if (info.ok()) (void)info->first_number();
}

/// The first byte is the size of the pieces that come.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t step = data[0] + 1;
  RedisParser parser;
  for (size_t at = 1; at < size; at += step) {
    parser.feed({data + at, std::min(step, size - at)});
    while (true) {
      const auto reply = parser.next();
      if (!reply.ok()) return 0;
      if (*reply == nullptr) break;
      look_at(**reply);
    }
  }
  return 0;
}
#else
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }
#endif
