//! Identical requests at the same time share one call.
//!
//! The first asker makes the call. The others wait for its end and look into the caches again, so that they use only
//! what is valid there. A reply from before an own change thus serves the first asker alone. When the first asker is
//! cancelled before the reply, the next one makes the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client_calls::{DirPosition, Principal};
use tokio::sync::Mutex as AsyncMutex;

use crate::{Caching, Detail, Handle, NameCaching, Reason, Result};

/// The questions with a call in flight.
#[derive(Debug)]
pub(crate) struct Questions {
    under_way: Mutex<HashMap<Question, UnderWay>>,
    are_attributes_kept: bool,
    are_dirs_kept: bool,
    are_names_kept: bool,
}

/// What is requested. The answers are kept in one of the caches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    Attributes(Handle),
    Name { dir: Handle, name: Box<[u8]> },
    Rights(Handle, Arc<Principal>),
    Target(Handle),
    Page { dir: Handle, from: DirPosition, detail: Detail },
}

/// How the call ended: `Ok` when there is nothing more to wait for, `Err` when no reply came. The asker that makes the
/// call holds the lock.
type End = AsyncMutex<Option<Result<()>>>;

/// A call, and how many wait for it or make it.
#[derive(Debug, Default)]
struct UnderWay {
    end: Arc<End>,
    askers: usize,
}

impl Questions {
    pub(crate) fn new(caching: &Caching) -> Questions {
        let are_dirs_kept = !caching.dir_min.is_zero();
        Questions {
            under_way: Mutex::default(),
            are_attributes_kept: are_dirs_kept || !caching.file_min.is_zero(),
            are_dirs_kept,
            are_names_kept: are_dirs_kept && caching.names != NameCaching::Off,
        }
    }

    /// Makes `call`, or waits for the same one that is in flight and takes what `look` then finds in the caches.
    pub(crate) async fn ask<T>(
        &self,
        question: Question,
        call: impl Future<Output = Result<T>>,
        look: impl FnOnce() -> Option<Result<T>>,
    ) -> Result<T> {
        if !self.is_kept(&question) {
            return call.await;
        }
        let asker = Asker::new(self, question);
        let mut end = asker.end.lock().await;
        match &*end {
            None => {
                let answer = call.await;
                *end = Some(outcome(&answer));
                asker.is_over();
                answer
            }
            Some(Err(no_reply)) => Err(no_reply.clone()),
            Some(Ok(())) => {
                drop(end);
                match look() {
                    Some(known) => known,
                    None => call.await,
                }
            }
        }
    }

    /// Whether answers are cached, so that it is worth waiting for them.
    fn is_kept(&self, question: &Question) -> bool {
        match question {
            Question::Attributes(_) | Question::Rights(..) | Question::Target(_) => self.are_attributes_kept,
            Question::Name { .. } => self.are_names_kept,
            Question::Page { .. } => self.are_dirs_kept,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the waiters get. They share a missing reply, so that they do not call a silent server in turn.
fn outcome<T>(answer: &Result<T>) -> Result<()> {
    match answer {
        Err(error) if matches!(error.reason(), Reason::NoReply(_)) => Err(error.clone()),
        _ => Ok(()),
    }
}

/// One of those that ask the same.
struct Asker<'a> {
    questions: &'a Questions,
    question: Question,
    end: Arc<End>,
}

impl<'a> Asker<'a> {
    fn new(questions: &'a Questions, question: Question) -> Asker<'a> {
        let end = {
            let mut all = questions.lock();
            let under_way = all.entry(question.clone()).or_default();
            under_way.askers += 1;
            Arc::clone(&under_way.end)
        };
        Asker { questions, question, end }
    }

    /// Makes later askers start another call.
    fn is_over(&self) {
        self.leave(|_| 0);
    }

    /// Updates the number of askers, and removes the call at zero. A newer call may have its place already.
    fn leave(&self, left: impl FnOnce(usize) -> usize) {
        let mut all = self.questions.lock();
        let Some(under_way) = all.get_mut(&self.question).filter(|now| Arc::ptr_eq(&now.end, &self.end)) else {
            return;
        };
        under_way.askers = left(under_way.askers);
        if under_way.askers == 0 {
            all.remove(&self.question);
        }
    }
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        self.leave(|askers| askers - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Status};
    use client_calls::core::Failure;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::sync::Notify;

    /// A server that answers on demand and counts the calls.
    #[derive(Default)]
    struct Bench {
        calls: AtomicU32,
        reply: Notify,
        cached: Mutex<Option<u32>>,
    }

    fn questions() -> Arc<Questions> {
        Arc::new(Questions::new(&Caching::default()))
    }

    fn question() -> Question {
        Question::Attributes(Handle::new(&[1]).unwrap())
    }

    fn error(reason: Reason) -> Error {
        Error::new(&"server".into(), "GETATTR", reason)
    }

    impl Bench {
        async fn call(&self, answer: Result<u32>) -> Result<u32> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.reply.notified().await;
            if let Ok(answer) = &answer {
                *self.cached.lock().unwrap() = Some(*answer);
            }
            answer
        }

        fn look(&self) -> Option<Result<u32>> {
            self.cached.lock().unwrap().map(Ok)
        }
    }

    type Asking = tokio::task::JoinHandle<Result<u32>>;

    /// Ten askers of the same question, of which all but the first wait.
    async fn ten(bench: &Arc<Bench>, questions: &Arc<Questions>, answer: Result<u32>) -> Vec<Asking> {
        let ask = |_| {
            let (bench, questions, answer) = (Arc::clone(bench), Arc::clone(questions), answer.clone());
            tokio::spawn(async move { questions.ask(question(), bench.call(answer), || bench.look()).await })
        };
        let asking = (0..10).map(ask).collect();
        settle().await;
        asking
    }

    /// Lets all tasks run until they wait.
    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    async fn ends(asking: Vec<Asking>) -> Vec<Result<u32>> {
        let mut ends = Vec::new();
        for asker in asking {
            ends.push(asker.await.unwrap());
        }
        ends
    }

    #[tokio::test]
    async fn one_call_answers_all_who_ask_meanwhile() {
        let (bench, questions) = (Arc::new(Bench::default()), questions());
        let asking = ten(&bench, &questions, Ok(7)).await;
        bench.reply.notify_one();
        assert!(ends(asking).await.into_iter().all(|end| matches!(end, Ok(7))));
        assert_eq!(bench.calls.load(Ordering::Relaxed), 1);
        assert!(questions.lock().is_empty());
    }

    #[tokio::test]
    async fn call_of_one_who_goes_away_is_made_by_the_next() {
        let (bench, questions) = (Arc::new(Bench::default()), questions());
        let mut asking = ten(&bench, &questions, Ok(7)).await;
        for calls in 1..=3 {
            assert_eq!(bench.calls.load(Ordering::Relaxed), calls);
            asking.remove(0).abort();
            settle().await;
        }
        bench.reply.notify_one();
        assert_eq!(ends(asking).await.len(), 7);
        assert_eq!(bench.calls.load(Ordering::Relaxed), 4);
        assert!(questions.lock().is_empty());
        let all = ten(&bench, &questions, Ok(7)).await;
        all.iter().for_each(Asking::abort);
        settle().await;
        assert!(questions.lock().is_empty(), "those who went away are forgotten");
    }

    #[tokio::test]
    async fn silence_is_shared_and_a_refusal_is_everybodys_own() {
        let (bench, questions) = (Arc::new(Bench::default()), questions());
        let asking = ten(&bench, &questions, Err(error(Reason::NoReply(Failure::Closed)))).await;
        bench.reply.notify_one();
        assert!(ends(asking).await.into_iter().all(|end| matches!(end.unwrap_err().reason(), Reason::NoReply(_))));
        assert_eq!(bench.calls.load(Ordering::Relaxed), 1);
        let asking = ten(&bench, &questions, Err(error(Reason::Status(Status::AccessDenied)))).await;
        bench.reply.notify_one();
        settle().await;
        bench.reply.notify_waiters();
        assert!(ends(asking).await.into_iter().all(|end| end.unwrap_err().status() == Some(Status::AccessDenied)));
        assert_eq!(bench.calls.load(Ordering::Relaxed), 11);
    }

    #[tokio::test]
    async fn where_nothing_is_kept_everybody_asks() {
        let questions = Arc::new(Questions::new(&Caching::without_attributes()));
        let bench = Arc::new(Bench::default());
        let asking = ten(&bench, &questions, Ok(7)).await;
        assert_eq!(bench.calls.load(Ordering::Relaxed), 10);
        bench.reply.notify_waiters();
        assert_eq!(ends(asking).await.len(), 10);
    }
}
