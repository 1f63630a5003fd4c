// A class whose lock is used wrongly. Nothing compiles it except tests/tools/test_thread_safety.py,
// which expects an error of the analysis at each line marked "wrong".
#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay {

class Counter {
 public:
  void increment() {
    const Lock lock(mutex_);
    ++count_;
  }
  int unlocked() const { return count_; }  // wrong: reads without the lock
  void add_unlocked() { add(1); }          // wrong: calls without the lock
  void await_any() {
    Lock lock(mutex_);
    while (count_ == 0) changed_.wait(lock);
    lock.unlock();
    count_ = 0;  // wrong: the lock is released
  }
  void twice() {
    const Lock lock(mutex_);
    const Lock again(mutex_);  // wrong: deadlock
  }

 private:
  void add(int more) FOREBAY_REQUIRES(mutex_) { count_ += more; }

  mutable Mutex mutex_;
  CondVar changed_;
  int count_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

void use(Counter& counter) { counter.increment(); }

}  // namespace forebay
