// URLs of logs and offsets in states and journals: any text is one, in one form, or is refused; no message has a password.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "stream/broker/kafka_address.h"
#include "stream/broker/nats_address.h"
#include "stream/broker/redis_address.h"
#include "stream/broker_url.h"
#include "stream/files/followed_folder.h"
#include "stream/number_offset.h"
#include "stream/rows/row_place.h"
#ifdef FOREBAY_WITH_NATS
#include "brokers/nats/nats_session.h"
#endif
#ifdef FOREBAY_WITH_REDIS
#include "brokers/redis/stream_id.h"
#endif

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void read_offsets(const std::string& text) {
  if (const auto number = number_of_offset(text)) require(std::to_string(*number) == text, "a number has one form");
  if (const auto place = FolderPlace::parse(text)) require(place->to_string() == text, "a place has one form");
  if (const auto row = RowPlace::parse(text)) require(row->to_string() == text, "a row's place has one form");
#ifdef FOREBAY_WITH_REDIS
  if (const auto id = StreamId::parse(text)) require(id->to_string() == text, "an id has one form");
#endif
#ifdef FOREBAY_WITH_NATS
  (void)NatsSequence::of_reply(text);
#endif
}

template <typename Address>
static void read_address(const std::string& url, const std::string& secret) {
  const auto address = Address::parse(url);
  const std::string shown = address.ok() ? address->name : address.status().to_string();
  require(shown.find(secret) == std::string::npos, "no message has a password");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_offsets(text);
  const auto url = parse_broker_url(text, 1);
  require(url.ok() || url.status().code() == Code::kInvalidArgument, "what is no URL is InvalidArgument");
  const std::string secret = "S3cr3t-pAssw0rd";
  if (text.find("cr3t") != std::string::npos) return 0;
  const std::string rest = "://user:" + secret + "@" + text;
  read_address<RedisAddress>("redis" + rest, secret);
  read_address<NatsAddress>("nats" + rest, secret);
  read_address<KafkaAddress>("kafka" + rest, secret);
  return 0;
}
