// Records of 3 KB a second out of Redis Streams and NATS JetStream: the readers of src/stream beside bare loops over the C clients.
//
//   tests/servers/with_servers --only redis,nats build/release/bench/bench_logs [RECORDS=100000] [ROUNDS=7]
//
// Every round runs all of a server one after the other, who goes first changes. Before, each reads all once, and the hash of what came must be that of what was written. The last
// columns are the median of the rounds' ratios to the bare client, with the least and the greatest.
#include <hiredis/hiredis.h>
#include <nats/nats.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "stream/open/open_log.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;

constexpr size_t kRecordBytes = 3000;
constexpr int kBatch = 1024;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::string payload_number(size_t i) {
  std::string text = fmt::format("{:012}", i);
  text.resize(kRecordBytes, static_cast<char>('a' + i % 26));
  return text;
}

/// What a contestant does with each record: all of it in the round that is checked, else what any use does.
class Consumer {
 public:
  explicit Consumer(bool all) : all_(all) {}
  void take(const void* data, size_t size) {
    if (all_)
      hasher_.update(data, size);
    else
      sum_ += size + *static_cast<const uint8_t*>(data);
    ++count_;
  }
  size_t count() const { return count_; }
  Hash128 hash() const { return hasher_.digest(); }
  uint64_t sum() const { return sum_; }

 private:
  const bool all_;
  Hasher hasher_;
  size_t count_ = 0;
  uint64_t sum_ = 0;
};

using Read = std::function<void(size_t count, Consumer& consumer)>;
struct Contestant {
  std::string name;
  Read read;
  std::vector<double> rates = {};
};

void read_log(const std::string& url, size_t count, Consumer& consumer) {
  const auto log = open_log({url});
  if (!log.ok()) fail(log.status().to_string());
  const auto reader = (*log)->read_after({{0, ""}}).value();
  while (consumer.count() < count) {
    const auto records = reader->read({0}, {}, {});
    if (!records.ok()) fail(records.status().to_string());
    for (const LogRecord& record : *records) {
      const size_t ahead = record.payload.size() - kRecordBytes;  // Redis: the entry's names and lengths
      consumer.take(record.payload.data() + ahead, kRecordBytes);
    }
  }
}

redisContext* redis_connection(const std::string& url) {
  redisContext* const context = redisConnect("127.0.0.1", std::stoi(url.substr(url.rfind(':') + 1)));
  if (context == nullptr || context->err != 0) fail("no connection to Redis");
  return context;
}

void write_redis(const std::string& url, const std::string& stream, size_t count) {
  redisContext* const context = redis_connection(url);
  redisReply* reply = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const std::string text = payload_number(i);
    redisAppendCommand(context, "XADD %s * data %b", stream.c_str(), text.data(), text.size());
    if (i % 500 != 499 && i + 1 != count) continue;
    for (size_t k = 0; k <= i % 500; ++k) {
      if (redisGetReply(context, reinterpret_cast<void**>(&reply)) != REDIS_OK) fail("Redis does not answer");
      freeReplyObject(reply);
    }
  }
  redisFree(context);
}

void read_bare_redis(const std::string& url, const std::string& stream, size_t count, Consumer& consumer) {
  redisContext* const context = redis_connection(url);
  std::string last = "0-0";
  while (consumer.count() < count) {
    auto* const reply = static_cast<redisReply*>(
        redisCommand(context, "XREAD COUNT %d BLOCK 100 STREAMS %s %s", kBatch, stream.c_str(), last.c_str()));
    if (reply == nullptr || reply->type != REDIS_REPLY_ARRAY) fail("no answer to XREAD");
    const redisReply* const entries = reply->element[0]->element[1];
    for (size_t i = 0; i < entries->elements; ++i) {
      const redisReply* const value = entries->element[i]->element[1]->element[1];
      consumer.take(value->str, value->len);
    }
    last = entries->element[entries->elements - 1]->element[0]->str;
    freeReplyObject(reply);
  }
  redisFree(context);
}

struct Nats {
  explicit Nats(const std::string& url) {
    if (natsConnection_ConnectTo(&connection, url.c_str()) != NATS_OK) fail("no connection to NATS");
    natsConnection_JetStream(&context, connection, nullptr);
  }
  ~Nats() {
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
  }
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
};

void write_nats(const std::string& url, const std::string& stream, size_t count) {
  Nats nats(url);
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subjects[] = {stream.c_str()};
  config.Name = stream.c_str();
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  if (js_AddStream(nullptr, nats.context, &config, nullptr, nullptr) != NATS_OK) fail("no stream of NATS");
  for (size_t i = 0; i < count; ++i) {
    const std::string text = payload_number(i);
    js_PublishAsync(nats.context, stream.c_str(), text.data(), static_cast<int>(text.size()), nullptr);
    if (i % 1000 == 999) js_PublishAsyncComplete(nats.context, nullptr);
  }
  if (js_PublishAsyncComplete(nats.context, nullptr) != NATS_OK) fail("NATS did not take all");
}

void read_bare_nats(const std::string& url, const std::string& stream, size_t count, Consumer& consumer) {
  Nats nats(url);
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Config.AckPolicy = js_AckNone;
  natsSubscription* subscription = nullptr;
  if (js_PullSubscribe(&subscription, nats.context, stream.c_str(), nullptr, nullptr, &options, nullptr) != NATS_OK)
    fail("no subscription");
  while (consumer.count() < count) {
    natsMsgList list{};
    if (natsSubscription_Fetch(&list, subscription, kBatch, 1000, nullptr) != NATS_OK) fail("nothing fetched");
    for (int i = 0; i < list.Count; ++i)
      consumer.take(natsMsg_GetData(list.Msgs[i]), static_cast<size_t>(natsMsg_GetDataLength(list.Msgs[i])));
    natsMsgList_Destroy(&list);
  }
  natsSubscription_Destroy(subscription);
}

/// The server pushes, with flow control, as fast as the client takes.
void read_pushed_nats(const std::string& url, const std::string& stream, size_t count, Consumer& consumer) {
  Nats nats(url);
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Ordered = true;
  natsSubscription* subscription = nullptr;
  if (js_SubscribeSync(&subscription, nats.context, stream.c_str(), nullptr, &options, nullptr) != NATS_OK)
    fail("no subscription");
  while (consumer.count() < count) {
    natsMsg* message = nullptr;
    if (natsSubscription_NextMsg(&message, subscription, 2000) != NATS_OK) fail("nothing pushed");
    consumer.take(natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message)));
    natsMsg_Destroy(message);
  }
  natsSubscription_Destroy(subscription);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(const std::string& server, std::vector<Contestant> contestants, size_t count, int rounds) {
  Hasher written;
  for (size_t i = 0; i < count; ++i) written.update(payload_number(i));
  for (const Contestant& each : contestants) {
    Consumer consumer(true);
    each.read(count, consumer);
    if (consumer.count() != count || consumer.hash() != written.digest()) fail(each.name + " read something else");
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      Contestant& each = contestants[(i + static_cast<size_t>(round)) % contestants.size()];
      Consumer consumer(false);
      const auto begin = Clock::now();
      each.read(count, consumer);
      if (consumer.sum() < count * kRecordBytes) fail(each.name + " read too little");
      each.rates.push_back(static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count());
    }
  }
  fmt::print("| {} | records/s | least | greatest | of the bare client |\n|---|---|---|---|---|\n", server);
  for (const Contestant& each : contestants) {
    std::vector<double> ratios;
    for (size_t i = 0; i < each.rates.size(); ++i) ratios.push_back(each.rates[i] / contestants[0].rates[i]);
    const auto [least, greatest] = std::ranges::minmax(each.rates);
    const auto [low, high] = std::ranges::minmax(ratios);
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} [{:.2f}, {:.2f}] |\n", each.name, median(each.rates), least,
               greatest, median(ratios), low, high);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::stoul(argv[1]) : 100'000;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 7;
  const char *const redis = std::getenv("FOREBAY_TEST_REDIS"), *const nats = std::getenv("FOREBAY_TEST_NATS");
  const std::string stream = fmt::format("bench-{}", Clock::now().time_since_epoch().count());
  if (redis == nullptr && nats == nullptr) fail("no server: run this by tests/servers/with_servers --only redis,nats");
  if (redis != nullptr) {
    const std::string url = redis;
    write_redis(url, stream, count);
    compare("Redis",
            {{"hiredis, XREAD", [&](size_t n, Consumer& c) { read_bare_redis(url, stream, n, c); }},
             {"forebay", [&](size_t n, Consumer& c) { read_log(url + "/" + stream, n, c); }}},
            count, rounds);
  }
  if (nats != nullptr) {
    const std::string url = nats;
    write_nats(url, stream, count);
    compare("NATS",
            {{"NATS C client, pulled", [&](size_t n, Consumer& c) { read_bare_nats(url, stream, n, c); }},
             {"NATS C client, pushed", [&](size_t n, Consumer& c) { read_pushed_nats(url, stream, n, c); }},
             {"forebay", [&](size_t n, Consumer& c) { read_log(url + "/" + stream, n, c); }}},
            count, rounds);
  }
  return 0;
}
