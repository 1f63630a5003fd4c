// What a stranger, or a host that has lost its mind, sends to the others of a job: it is refused with a reason, or it is a question or an
// answer whose parts lie inside of it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cluster/address.h"
#include "cluster/message.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void read_question(const uint8_t* data, size_t size) {
  const auto wanted = parse_question({data, size});
  require(wanted.ok() || wanted.status().code() == Code::kCorrupt, "what is no question is Corrupt");
  if (!wanted.ok()) return;
  require(wanted->size() <= kMostKeys, "as many keys as there may be");
  const Buffer again = encode_question(*wanted);
  require(again.size() == size && std::memcmp(again.data(), data, size) == 0, "a question is written in one way only");
}

static void read_answer(size_t keys, const uint8_t* data, size_t size) {
  std::vector<WantedKey> wanted(keys);
  for (size_t i = 0; i < keys; ++i) wanted[i] = {{i, i}, i % 2 == 0 ? UINT64_MAX : 100 * i};
  Buffer bytes = Buffer::allocate(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  const auto answers = parse_answer(wanted, bytes);
  require(answers.ok() || answers.status().code() == Code::kCorrupt, "what is no answer is Corrupt");
  if (!answers.ok()) return;
  require(answers->size() == keys, "an answer for each key");
  uint64_t sum = 0;
  for (size_t i = 0; i < keys; ++i) {
    const AnsweredKey& answer = (*answers)[i];
    require(answer.body.size() <= wanted[i].most_bytes, "no more than was wanted");
    for (const uint8_t byte : answer.body.span()) sum += byte;
  }
  require(sum < UINT64_MAX, "the bytes are there");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)parse_host_port({reinterpret_cast<const char*>(data), size});
  read_question(data, size);
  if (size > 0) read_answer(data[0] % 8, data + 1, size - 1);
  return 0;
}
