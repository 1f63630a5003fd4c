#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/active_messages.h"
#include "ucx/connections.h"
#include "ucx/ucx_worker.h"

namespace forebay {

/// Active messages of UCX over connections that one thread looks after. UCX tells of a death, and of a partition nothing for long: what is asked has limits of
/// its own here.
class UcxLoop : public std::enable_shared_from_this<UcxLoop> {
 public:
  using Asking = ActiveMessages::Asking;
  using Answer = ActiveMessages::Answer;
  using OnAnswer = ActiveMessages::OnAnswer;

  explicit UcxLoop(ActiveMessageOptions options) : options_(std::move(options)) {}
  /// Starts the thread, which keeps this alive until close().
  Status begin();
  /// Nobody is called any more for questions; what is under way is answered with Cancelled, before this returns, unless it is the loop's own thread that calls
  /// (inside of an answer): then soon after.
  void close();

  const std::string& card() const { return card_; }
  void ask(Asking asking, OnAnswer on_answer);
  /// Has the thread call this, soon. False, and it is dropped, where the end is near.
  bool post(std::function<void()> function);

 private:
  using Clock = Connections::Clock;
  class Received;
  /// A question as it came, before it is known who asks.
  struct Arrived {
    MessageHead head;
    Buffer bytes;
  };
  /// Something that was asked and is not answered.
  struct Asked {
    uint64_t connection = 0, most_bytes = 0;
    OnAnswer on_answer;
    Clock::time_point begun;
    std::multimap<Clock::time_point, uint64_t>::iterator limit, silence;
    bool comes = false;  ///< its answer has begun
  };
  /// An answer that comes in parts. Its memory stays until UCX lets go of it, also where nobody waits for it any more.
  struct Receiving {
    UcxLoop* end = nullptr;
    std::list<Receiving>::iterator place = {};
    MessageHead head = {};
    Buffer bytes = {};
  };

  Status handle_messages();
  void run();
  /// After run(), on its thread.
  void finish();
  void run_posted();
  /// True where there is more.
  bool progress();
  void sleep();
  int until_next_deadline() const;
  void end_late(Clock::time_point now);
  bool comes_over(uint64_t connection) const;

  void begin_asking(Asking asking, OnAnswer on_answer);
  void answer(uint64_t id, Result<Answer> result);
  void on_gone(uint64_t connection, const Status& why);

  void take_arrived();
  void take_question(const Arrived& arrived);
  void refuse(RefusedQuestion why);
  static ucs_status_t on_question(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                                  const ucp_am_recv_param_t* param);
  static ucs_status_t on_answer(void* end, const void* head, size_t head_bytes, void* data, size_t bytes,
                                const ucp_am_recv_param_t* param);
  ucs_status_t take_answer(const MessageHead& head, void* data, size_t bytes, bool announced);
  ucs_status_t receive(const MessageHead& head, void* data, size_t bytes);
  static void on_received(void* request, ucs_status_t status, size_t bytes, void* receiving);

  const ActiveMessageOptions options_;
  UcxWorker worker_;
  std::string address_, card_;
  std::unique_ptr<Connections> connections_;
  std::vector<Arrived> arrived_;
  uint64_t number_ = 0, ids_ = 0;  ///< random; the latter counts from there
  uint64_t address_hash_ = 0;
  std::unordered_map<uint64_t, Asked> asked_;
  std::list<Receiving> receivings_;
  std::multimap<Clock::time_point, uint64_t> limits_, silences_;

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> closing_{false};  ///< set with the lock held
  std::atomic<bool> asleep_{false};
  std::thread thread_;
};

class UcxEnd final : public ActiveMessages {
 public:
  static Result<std::unique_ptr<UcxEnd>> open(ActiveMessageOptions options);
  explicit UcxEnd(std::shared_ptr<UcxLoop> loop) : loop_(std::move(loop)) {}
  ~UcxEnd() override { loop_->close(); }
  const std::string& card() const override { return loop_->card(); }
  void ask(Asking asking, OnAnswer on_answer) override { loop_->ask(std::move(asking), std::move(on_answer)); }

 private:
  const std::shared_ptr<UcxLoop> loop_;
};

}  // namespace forebay
