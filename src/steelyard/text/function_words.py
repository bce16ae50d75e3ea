"""Function words by language: they identify a language, and do not depend on the topic.

Articles, pronouns, prepositions, conjunctions, auxiliary and question words, as `normalise` writes them; words with an
apostrophe are split as in tokenisation. A language with its own script does not need a list.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": """a about above after again against all am an and any are aren as at be because been before being below
            between both but by can cannot could couldn d did didn do does doesn doing don down during each few for
            from further had hadn has hasn have haven having he her here hers herself him himself his how i if in
            into is isn it its itself just ll m ma me might mightn more most must mustn my myself needn no nor not
            now o of off on once only or other ought our ours ourselves out over own re s same shall shan she should
            shouldn so some such t than that the their theirs them themselves then there these they this those
            through to too under until up upon ve very was wasn we were weren what when where whether which while
            who whom whose why will with won would wouldn y you your yours yourself yourselves""",
        "de": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den denn der
            des
            dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines
            er es euch euer für gegen haben hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren
            ihrer im in ist ja jede jeder jedes kann kein keine können man mehr mein mich mir mit muss nach nicht
            noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so um und uns unser
            unter vom von vor war waren warum was weil welche welcher welches wem wen wenn wer werden wie wieder
            will wir wird wo wurde wurden während zu zum zur zwischen über""",
        "fr": """ai au aucun aussi autre aux avait avec avoir c ce ceci cela ces cet cette chez comme comment d dans
            de
            depuis des donc dont du elle elles en encore entre est et eu fait il ils j je l la laquelle le lequel
            les lesquels leur leurs lui m ma mais me mes moi mon même n ne nos notre nous on ont ou où par parce pas
            pendant peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si
            son sont sous sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
            à étaient était été être""",
        "es": """a al algo ante antes aquel como con contra cual cuales cuando cuál cuáles cuándo cuánto cuántos cómo
            de
            del desde donde dos durante dónde e el ella ellas ellos en entre era eran es esa esas ese eso esos esta
            estaba estas este esto estos está están fue fueron ha había han hasta hay la las le les lo los me mi
            mientras mucho muy más nada ni no nos o os otra otro para pero poco por porque puede que quien quién
            quiénes qué se según ser si sido sin sobre son su sus sí también tan tanto te tiene todo todos tras tu
            un una unas uno unos y ya yo él""",
        "it": """a abbiamo ad agli ai al alla alle allo anche avere c che chi ci come con contro cosa cui da dagli dai
            dal dalla dalle dallo degli dei del dell della delle dello di dopo dove durante e ed era erano essere
            fino fra fu furono gli ha hanno i il in io l la le lei li lo loro lui ma mentre mi mio molto ne negli
            nei nel nell nella nelle nello noi non nostro o ogni per perché però più poi prima qual quale quali
            quando quanti quanto quella quelle quelli quello questa queste questi questo qui se sei sempre senza si
            sia siamo solo sono sopra sotto stata stati stato su sua sue sugli sui sul sulla sulle suo suoi tra tu
            tutti tutto un una uno vi voi è""",
        "pt": """a ao aos aquela aquele as até com como contra da das de dela dele deles depois desde do dos durante e
            ela elas ele eles em entre era eram essa esse esta estava este está estão eu foi foram há isso isto já
            lhe mais mas me mesmo meu minha muito na nas nem no nos nossa nosso num numa não nós o onde os ou para
            pela pelas pelo pelos pode por porque quais qual quando quanto quantos que quem se sem ser seu seus sido
            sobre sua suas são só também te tem tinha todo todos tu um uma você à às é""",
        "nl": """aan al alle als bij daar dan dat de deze die dit doch doen door dus een en er ge geen had hadden heb
            hebben heeft hem het hier hij hoe hoeveel hun iemand ik in is ja je kan kon kunnen maar me meer men met
            mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot
            tussen uit van veel voor waar waarom wanneer want waren was wat welk welke werd werden wie wij wil
            worden wordt zal ze zei zich zij zijn zo zonder zou""",
        "sv": """alla allt att av blev bli blir de deltog dem den denna deras dess det detta dig din du där då efter
            ej
            eller en ett finns från för genom ha hade han hans har hennes hon honom hur här i icke ingen inom inte
            jag ju kan kunde man med mellan men mig min mot mycket ni nu när någon något och om oss på samma sedan
            sig sin sina sitt själv skulle som så till under upp ut utan vad var vara varför varit vem vi vid vilka
            vilken vilket vår är åt över""",
        "da": """ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din
            disse dog fordi siden før igen
            du
            efter eller en end er et for fra få ham han hans har havde have hende hendes her hos hun hvad hvem hver
            hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne man mange med
            meget mellem men mig min mod ned noget nogle nu når og også om op os over på selv sig sin sine skal
            skulle som sådan thi til ud uden under var vi vil ville være været""",
        "no": """alle at av ble bli blir da de deg dem den denne der dere deres det dette di din disse du ein eit
            eller
            en enn er et etter for fordi fra frå før ha hadde han hans har hennes her hun hva hvem hver hvilke
            hvilken hvilket hvis hvor hvordan hvorfor i ikke ikkje inn jeg kan kunne man mange med meg mellom men
            mer min mot mye ned noe noen nå når og også om opp oss over på seg selv sin sine skal skulle som så til
            under ut uten var ved vi vil ville være vært""",
        "fi": """ei eikä eivät en ennen et ettei että he heidän hän hänen ja jo joka jonka jos jossa jotka jälkeen
            kanssa
            kautta keitä ketkä kuin kuinka kuka kun kuten miksi mikä millainen milloin minkä missä mitkä mitä
            montako mukaan mutta muun myös ne niiden niin noin nyt näiden nämä ole olen oli olisi olivat ollut on
            ovat se sekä sen siinä siitä sillä sitä tai tämä tämän vaan vain voi vuonna yli""",
        "hu": """a abban ahhoz ahogy aki akik alatt amely amelyek ami amikor annak arra az azonban azt azért be csak
            de
            egy egyik ehhez ekkor el ez ezek ezen ezt ezzel fel ha hanem hiszen hogy hogyan hol honnan hány igen
            illetve is itt kell ki kik között le lehet lett létre majd meg mely melyik mi miatt mikor milyen mint
            mit mivel miért már más még nagyon ne nem nincs pedig s sem során szerint számos számára után utána vagy
            vagyok való van vannak vissza volt voltak és így össze ő ők""",
        "pl": """aby albo ale ani bez bo by być był była było były ci co czy czyli dla do gdy gdyż gdzie go i ich ile
            im
            inne ja jak jaka jaki jakie jako je jego jej jest jeszcze jeśli już kiedy kto która które którego której
            który których którym którzy lub ma mają mi między mnie może na nad nas nich nie nim niż o od on ona one
            oni oraz po pod poprzez przed przez przy się sobie swoje są ta tak także tam te tego tej ten też to tu
            tych tym w we według więc wraz z za ze został została zostały że żeby""",
        "cs": """a aby ale ani asi až bez bude by byl byla byli bylo byly být co což do ho i jak jako jaká jaké jaký
            je
            jeho jej jejich její jen jenž jestli ještě ji již jsem jsou k kam kde kdo kdy kdyby když ke kolik kromě
            která které kterého který kteří ku ma mají mezi mi mimo mu my mít může na nad nebo není než nich o od
            pak po pod podle pokud potom pouze pro proto protože proč před přes při s se si svou své svých svůj ta
            tak také tam te tedy tento to toho tom tomu tu tuto ty této tím u v ve vy však z za ze že""",
        "sk": """a aby aj ako aká aké aký ale alebo ani až bez bol bola boli bolo by byť cez do ešte ho i iba ich im
            ja
            je jeho jej k kam kde kedy keď koľko kto ktorá ktoré ktorého ktorí ktorý ku lebo len ma majú medzi mi mu
            my môže na nad nich nie o od on ona ono po pod podľa pokiaľ počas pre pred pretože prečo pri s sa si sme
                        so som svoje sú ta tak takže tam teda tej ten tento tiež to toho tom tomu tu už v vo
            však z za zo čo že""",
        "ro": """a acea aceasta această aceea acest acesta aceste acestea acestui ai al ale am ar are as asupra au
            avea
            avut ca care ce cea cei cel cele cine cu cum când cât câte câți că căror către da dar de deci decât deși
            din dintre doar după ea ei el ele era erau este eu face fi fie fiind fost i iar la le li lor lui mai
            mult ne nici nu o ori pe pentru peste poate prin printre s sa sale sau se si spre sub sunt să săi său te
            toate tot un una unde unei unii unor unui va vor în încă între își și""",
        "tr": """acaba ama ancak arasında bazı belki ben bile bir biri birçok biz bu buna bunda bundan bunu bunun da
            daha
            dahi de defa değil diye en gibi göre hangi hem hep her hiç idi ile ilk ise için içinde kadar kaç kez ki
            kim kimdir mi mu mü mı nasıl ne neden nedir nerede nereye niye niçin o olan olarak oldu olduğu olduğunu
            olması olsa olup on ona onlar onu onun sen siz sonra tarafından tüm ve veya ya yani yer çok çünkü önce
            şey şu""",
        "id": """ada adalah agar akan aku anda antara apa apabila apakah atas atau bagaimana bagi bahwa banyak
            beberapa
            belum berapa bisa bukan dalam dan dapat dari daripada demi dengan di dia dimana hanya harus hingga ia
            ini itu jika juga kami kapan karena ke kemudian kepada ketika kita lagi lain lebih maka mana mengapa
            menjadi mereka namun oleh pada para pernah saat saja sangat saya sebagai sebelum sebuah secara sedang
            sejak selama seorang seperti serta setelah siapa suatu sudah tanpa telah tentang terhadap tersebut
            tetapi tidak untuk yaitu yakni yang""",
        "ms": """adalah akan anda antara apa apakah atau bagaimana bagi bahawa banyak beberapa belum berapa bila
            bilakah
            boleh bukan dalam dan dapat dari daripada dengan di dia hanya harus hingga ia iaitu ialah ini itu jika
            juga kami ke kepada kerana ketika kita lagi lain lebih mana manakah mengapa menjadi mereka oleh pada
            para saya sebagai sebelum sebuah secara sejak selepas semasa seorang seperti serta siapa sudah telah
            tentang terhadap tersebut tetapi tidak untuk yang""",
        "tl": """aking ako alin ang ano anong at ay ayon bago bakit bilang dahil dapat din dito doon gaano ganito
            hanggang hindi ilan ilang isa isang ito iyon kailan kanila kanilang kaniyang kanya kanyang kapag kay
            kaya ko kong kung lamang lang maaari maaaring maging may mayroon mga mo mula na naging namin nang nasa
            ng ngunit ni nila nito niya o pa paano pagkatapos para pati pero po rin sa saan sapagkat sila sina sino
            siya tulad upang walang""",
        "vi": """ai bao bằng bị bởi cho chưa chỉ chứ các cái còn có cùng cũng cả cần của do gì hay hơn khi không là
            lên
            lúc lại mà mỗi một ngay nhiều như nhưng những nào này nên năm nơi nếu nữa phải qua ra rất rằng rồi sao
            sau sẽ sự theo thì trong trên trước tại từ từng việc và vào vì vẫn về với vừa đang đi đâu đây đã đó được
            đến đều để ở""",
        "sw": """alikuwa ambao ambapo ambayo au baada bila cha dhidi gani hadi hata hii hiki hivyo hiyo hizo huo huu
            ikiwa ile ilikuwa ingawa jinsi juu kabla kama kati katika kila kuhusu kutoka kuwa kwa kwamba la lakini
            lini mara mbali mwa mwaka na nani ndani ngapi ni nini pamoja pia sana sasa si tangu tu vile wa wakati
            wake walikuwa wao wapi watu ya yake yao yote za zaidi zake""",
        "et": """aga ainult alates all ega ehk ei enne et ette ja jooksul järel järgi ka kas keda kelle kes kui kuid
            kuidas kuigi kuni kus kust kõik küll ma me mida miks millal mille milline millised millist mis mitte
            mitu mu nad nagu need neid nende nii ning no oleks olema oli olid olla olnud oma on pärast sa saab
            samuti seal seda see selle selles sest siin siis ta te teda tema temal tuleb vaid vastu veel välja või
            ühe üks üle""",
        "lv": """ap ar arī bet bez bija biju būt caur cik dēļ ir ja jau jo kad kam kas ko kur kura kuras kuri kurš kā
            kāda kādi kāds kāpēc kļuva līdz man mēs mūsu nav ne nevis no nu pa par pie pirms pret pār pēc savas savu
            sev starp tad tajā tam tas taču tika tikai to tomēr tos tur tā tādēļ un uz vai vairāk var viena viens
            viņa viņi viņu viņš vēl zem šis šo šī""",
        "lt": """ant apie ar arba aš be bei bet buvo būti dar dėl iki ir iš ja jam jau jei ji jie jis jo jos juos jų
            kad
            kada kai kaip kas kiek ko kodėl kokia kokie koks kur kuri kuriame kurie kurio kurios kuris kurių labai
            mes mūsų ne nei nes nors nuo o pagal pas per po prie prieš savo su ta tai taip tam tarp tas tačiau ten
            tik to tuo už ypač yra į ši šio šis šią""",
        "hr": """a ako ali bez bi bila bile bili bilo bio biti do dok ga gdje i ih ili im iz ja je jedan jer još kada
            kako kao kod koja koje kojeg koji kojih kojoj koju koliko kroz li među mi na nad nakon ne nego nije nisu
            njegov njegova njezin njih o od on ona oni po pod prema pri prije s sa samo se smo stoga su sve svi svoj
            ta tada tako također te tijekom tko to toga u uz već više za zašto zbog što""",
        "sl": """a ali ampak bi bil bila bile bili bilo biti bo do ga in iz ja jaz je jih jim k kaj kako kakšen kam
            kar
            katera katere kateri kdaj kdo ker ki kje ko koliko kot lahko le med mi na nad naj ne nekaj ni niso
            njegov njegova o ob od on ona oni pa po pod poleg prav pred pri proti s se sem si skozi smo so ta tako
            tam te tega tem to toda tudi v vendar ves več za zakaj zaradi še že""",
        "ca": """a això al allò als amb aquell aquest aquesta aquests bé cada com contra d de del dels des dins doncs
            durant e el ella ells els em en encara entre era eren estava està fa fins fou ha han havia hi i l la les
            li lo m mateix molt més ni no nosaltres o on per perquè però poc pot qual quals quan quant quants quart
            que qui quin quina quines quins qué s sa se sense ser seu seus seva seves si sobre sota són també tan
            tant te tot tots un una uns va van és""",
        "gl": """a ademais ao aos aquel as ata até cal cales cando canto cantos co coa coas como con contra cos da das
            de
            dende desde despois do dos e el ela eles en entre era eran esa ese esta este está foi foron había hai
            iso isto la lle mais me moi máis na nas nin no non nos o onde os ou outra outro para pero pode pola
            polas polo polos por porque que quen se sen ser seu seus sobre súa súas tamén ten tiña un unha unhas uns
            xa á ás é ó""",
        "eu": """al ala arte artean asko baina baino bat batean baten batzuk beharko bera berak bere beste bezala da
            dago
            dela den dira ditu dituen dituzte du duen dute duten egin egiten egon ere eta ez gabe gainera gehiago
            gero hau hori horien hura izan izango izaten jo joan moduan nahiz noiz nola non nor nork ordea oso zein
            zen zenbat zer zergatik ziren zituen zituzten zuen zuten""",
        "ga": """a ach ag agus an ar as atá ba bhfuil bhuel bhí cad cathain chuig chun conas cá cé cén de den do don
            dá
            faoi féin go gur i idir in is le leis mar má na nach ná ní níl nó roimh sa san seo siad sin sé sí tar
            trí tá uaidh um ó ón ós""",
        "cy": """a ac ai am ar at beth ble bod bu chi chwi dan dros ei er eu fe fel felly fod fy gan gwnaeth gyda
            hefyd
            hi hon hwn hyn i iddi iddo mae maent mai mewn nad ni nid o oedd oes ond os pa pam pan pryd pwy rhwng
            roedd sut sy sydd trwy tua wedi wrth y ydy ym ymlaen yn yna yr""",
        "is": """af alla allt að ef eftir ekki en er eru eða fara frá fyrir fyrr hafa hafði hann hans hefur hennar
            henni
            hvar hvað hve hvenær hver hverja hvernig hvers hvort hér hún með meðan milli mjög niður né nú og sem sig
            svo sér sín sína sínum síðan til um undan undir upp var vegna vera verið við voru yfir á án ég í úr út
            þar þau það þegar þeir þeirra þess þessa þessi þetta því þá þær""",
        "sq": """a ai ajo aq as at ata ato atë cila cilat cili cilin deri dhe do duhet e edhe fund gjatë i ishin ishte
            ja
            jam jane janë ju ka kam kanë kjo ku kur kush ky këtë ma mbi me mund më nga një nuk në nëse o ose pas po
            por pra prej pse për përmes qe që sa saj se si sipas së tek tij tyre të u unë është""",
        "af": """aan af al as baie by daar dat deur die dit dié een ek en gaan gee geen haar het hierdie hoe hoekom
            hoeveel hom hulle hy in is jy kan kon maar meer met moet my n na nie nog nou of om omdat onder ons ook
            oor op sal se self sien sodat soos sou sy sê te teen toe tot tussen uit van vanaf vir voor waar wanneer
            was wat watter wees wie wil word""",
        "eo": """al ankaŭ antaŭ aŭ da de do dum el en estas esti estis havas ili ilia inter iĝis ja jam je jes kaj ke
            kia
            kial kiam kie kiel kio kiom kiu kiuj kun kvankam la laŭ li lia mi mia ne nek nu nur oni per plej pli plu
            po por post povas pri pro se sed sen ses si sia sub sur tial tiam tie tiel tio tiu tiuj tra trans tre
            tro unu vi via ĉar ĉe ĉi ĉiu ĉiuj ĉu ĝi ĝia ĝis ŝi ŝia""",
        "az": """amma belə bir bu bütün da daha də edir edən hansı haqqında harada heç həm hər idi ilə isə ki kim kimi
            lakin necə neçə niyə nə nədir o olan olaraq oldu olduğu onlar onun qədər sonra tərəfindən var və ya
            yalnız zaman çox öz üçün əgər ən""",
        "uz": """agar ammo barcha bilan bir biri biroq bo bolgan boshqa boʻlgan boʻlib bu edi ega emas eng esa ham
            haqida
            har hech kerak keyin kim lekin nega nima nimaga o oʻz qachon qancha qanday qayerda qaysi u uchun ular
            uning va yana yil yoki""",
        "so": """aad aan ah ayaa ayay baa badan buu ee halkaas hase in inay iska iyo ka kala kale kaliya kasta ku la
            laga
            lagu leh loo ma markii maxaa maxay miyaa oo si u uu waa waana wax waxa waxaa waxay wuxuu xagga""",
        "yo": """awọn bá bí bó fi fún gbogbo jù jẹ jẹ́ kan kini ká kí kò láti lè lọ mo máa ni ní nígbà nínú nítorí o
            pé
            pẹ̀lú rẹ̀ sì sí ti tí tó wà wọn wọ́n yìí àti àwọn òun ó ń ṣe""",
        "ha": """a amma an cewa cikin da daga ga haka har ina inda ita ka kamar kan ke ko kuma lokacin ma mai me mene
            na
            ne ni saboda sai shi su sun ta tana wadda wanda wane wannan wata ya yadda yake yana zuwa""",
        "zu": """futhi kanye kodwa kusukela kuyo kuze kwa kwaba kwakhe la lapho le lo lokhu ma na naye ngaphandle
            ngoba
            ngokuthi ngu nje njengoba noma okuthi ukuba ukuthi uma wa wakhe ya yakhe yini ze""",
        "ru": """а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его
            ее
            если есть еще ещё её же за зачем здесь и из или им их к как какая какие каким какого какой какую кем
            когда кого кому которая которого которой которые который которых кто куда ли между меня мне много может
            можно мой мы на над нас наш не него нее ней нет ни них но ну о об один он она они оно от очень перед по
            под после потому почему при про раз с сам своего своей свою себя сколько со так также такой там тебя тем
            то того тоже той только том тот ты у уже чего чей чем через что чтобы чье эта эти этих это этого этой
            этом этот эту я""",
        "uk": """а або але без би був була були було бути в вам вас вже ви вона вони воно все всі від він де для до ж
            з
            за зі й його ким кого коли кому котрий куди мені ми може можна між на над нас наш не неї них ні о об
            один перед по при про під після раз саме свого свої себе скільки та так також там те ти тим то того тоді
            той тому тільки у хто це цей цього ці цієї через чи чим чому що щоб щодо як яка яке який яких якого
            якому якої якщо які є і із їх її""",
        "be": """а аб або але без бы была было былі быць быў ва вам вы він гэта гэтага гэтай гэты да дзе для з за каб
            каго каля калі каму каторы колькі кім можа на над не ня па пад паміж пасля пра праз пры сам свае сваё
            так таксама там таму той толькі ты у хто ці чаму чым што я яго яе як якая якога якой які якія яна яны
            яўляецца ён і ім іншых іх ў""",
        "bg": """а ако ала бе без беше би бил била били било бъде в вие все всички във въпреки да дали до докато е
            един
            една едно за заради защо защото и из или им има й как каква какви какво какъв кога когато кого което
            които кой който колко коя която къде към ли между ми много може му на над най не него нея ни ние но
            някои о обаче освен от по повече под поради преди през при с са само се си след според съм със също т
            така такава такъв там те тези то това този той толкова тя у че чрез ще я""",
        "mk": """а ако без беше би биде бил била биле било вo во ги го да дали дека до е еден една едно за зад заради
            зошто и из или им има исто каде како каков кај кога кого кое кои колку кон кој која којшто ли меѓу му на
            над најмногу не неа негов неговата нив но о од односно околу освен по под поради потоа пред преку при сè
            сам само се сите со според сум така тие тоа тој тука у чија што ја ќе""",
        "sr": """а ако али без би била биле били било био бити већ више да до док за зашто због и из или им има их к
            кад
            када како као код колико која које којег који којих којој коју кроз ли међу му на над након не него нису
            није о од он она они оно осим по под поред пре према при с са сам само све сви своје се смо су та тада
            тако такође те то тога тоом тој у уз шта што ја је један једна једно јер још њега његов његова њих ће""",
        "kk": """ал ара арқылы бар барлық басқа бен бойынша болды болып болған біз бір бірақ бұл да дан де деген дейін
            дің еді екі ең жоқ жылы және кейін кім мен мұнда не неге нің ол олар онда оның осы пен сол соң тек
            туралы шейін яғни қай қалай қандай қанша қашан үшін ұшін""",
        "mn": """ба бай байна байсан бас бол болно боловч болон болох бөгөөд гэж гэсэн дахь дотор дээр его за зэрэг их
            кэн мөн нь нэг нэгэн оны тул тухай тэд тэр уу хаана хэдэн хэн хэр хэрэв хүртэл энэ юм юу яагаад яаж ямар
            ёстой үү өөр өөрийн""",
        "ar": """أم أما أن أنا أنت أنه أنها أو أي أية أيضا أين إذ إذا إلا إلى إن إنه التي الذي الذين اللتان اللذان بعد
            بعض بل بن به بها بهذا بهذه بين تحت تكون تلك تم ثم جدا جميع حتى حول حيث خلال دون ذلك سوف ضد ضمن عدا على
            عليه عليها عن عند عندما عنه غير فإن فقد فقط فوق في فيه فيها قبل قد كان كانت كل كم كما كيف لأن لأنه لا
            لدى لقد لكن لكنه لكي لم لماذا لن له لها لهذا لهم ليس ليست ما ماذا متى مثل مع معظم معه من منذ منه منها
            نحو هؤلاء هذا هذه هل هم هما هنا هناك هو هي و والتي والذي وفي وقد وكان وكانت ولا ولم ومن وهو وهي يتم يكون
            يمكن""",
        "fa": """آن آنها آیا از است اما او اگر ای این اینکه با بار باشد باید بر برای برخی به بود بودند بوده بی بین تا
            تر
            تو توسط حتی خواهد خود دارد دارند داشت در درباره دو دیگر را روی زیرا سپس شد شدند شده شما شود طور طی علیه
            ما مانند من مورد می میان نبود نه نیز نیست ها های هر هستند هم همه همین هنگام و ولی وی پس پیش چرا چند چه
            چون چگونه چیست کجا کدام کرد کردند کرده کسی کند کنند که کی یا یک یکی""",
        "ur": """آپ اس اسی اسے ان انہوں انہیں اور اپنا اپنی اپنے اگر ایک بعد بنا بھی بہت تاہم تو تک تھا تھی تھے تین جا
            جب
            جبکہ جس جن جو جہاں جیسے خود دو دوران دی دیا ذریعے رہا رہی رہے ساتھ سب سکتا سکتی سکتے سے صرف طرح طور
            علاوہ لئے لیکن لیے مگر میں نہ نہیں نیز نے والے وہ پر پھر کا کب کتنا کتنی کتنے کر کرتا کرتے کرنا کرنے کس
            کسی کو کوئی کون کونسا کچھ کہ کہا کہاں کی کیا کیسے کیوں کے گئی گئے گیا ہم ہو ہوئی ہوئے ہوا ہوتا ہوتی ہوتے
            ہونے ہی ہیں ہے یا یہ یہاں""",
        "ps": """او باندې بل تر ترڅو ته خو د دا دغه ده دي دی سره شو شوه شوي له لپاره مګر نه هر هغه هم ول ولې وه وو وي
            يوه
            يې پر په څخه څنګه څه څوک چې ډیر ډېر کله کول کړ کړي کښې کې یو یې""",
        "ckb": """ئەم ئەو ئەوەی بوو بوون بووە بۆ بۆچی بە دا دەکات زۆر لە لەگەڵ نییە هەر هەموو هەیە و پاش پێش چۆن چی کوێ
            کێ
            کە کەی یان""",
        "hi": """अपना अपनी अपने अभी आदि आप इन इनका इनकी इनके इन्हें इस इसका इसकी इसके इसमें इसी इसे उन उनका उनकी उनके
            उनको उन्हें उन्होंने उस उसका उसकी उसके उसने उसे एक एवं ऐसे और कई कब कर करता करते करना करने करें कहा कहाँ
            कहां का कितना कितनी कितने किन किया किस किसने किसी किसे की कुछ के केवल कैसे को कोई कौन कौनसा कौनसी क्या
            क्यों गई गए गया जब जहाँ जहां जा जाता जाती जाते जाने जिन जिस जिसका जिसकी जिसके जिसने जिसमें जिसे जैसे जो
            तक तथा तब तो था थी थीं थे दिया दो द्वारा न नहीं ने पर परंतु पहले फिर बहुत बाद भी में मैं यदि यह यहाँ
            यहां या ये रहा रही रहे लिए लेकिन व वह वहाँ वहां वाला वाली वाले वे सकता सकती सकते सभी साथ से हम ही हुआ
            हुई हुए हूँ है हैं हो होता होती होते होना होने""",
        "mr": """अनेक अशा असते असलेल्या असा असून असे आणि आता आपला आपल्या आहे आहेत इतर एक एका कधी करण्यात करतात करते
            करून
            का काय कारण काही किंवा किती की कुठे केला केली केले कोण कोणता कोणती कोणते कोणत्या खूप च जी जे जो ज्या
            झाला झाली झाले तर तसेच तिच्या ती ते तेव्हा तो त्या त्यांच्या त्यांना त्यांनी त्याच्या त्याने नंतर नाही
            पण परंतु पर्यंत पासून पुन्हा मध्ये मात्र मी म्हणजे म्हणून या यांच्या यांनी याच्या येथे ला व वर सर्व साठी
            हा ही हे होता होती होते""",
        "ne": """अझै अनि अनुसार अब अरू अर्को आदि आफू आफ्नो उनको उनलाई उनले उनी उनीहरू एउटा एक एवं औं कति कसरी कसले
            कहाँ
            कहिले का कि किन की कुन कुनै के केही को गरी गरे गरेको गर्दा गर्न गर्ने छ छन् जब जसले जस्तो जुन जो त तथा
            तर तिनको तिनी तिनीहरू त्यो थिइन् थिए थियो दुई देखि द्वारा न नै पछि पनि पर्छ बाट बारे भई भए भएका भएको भने
            भन्दा भन्ने भयो मा मात्र यस यसको यसले यी यो र रहेको रूपमा लाई लागि ले वा सँग सबै साथ सो हुन हुने हुन्छ
            हो होइन""",
        "yi": """א אַ אַז אויך אויף און אז איז איך אין איר ביי בײַ געווען דאָס דאס דורך די דעם דער האָט האבן האט וואָס
            וואס וווּ ווי ווען ווער זי זיין זיך מיט מיר נאך ניט נישט עס ער פֿאַר פֿון פאר פארוואס פון צו""",
        "he": """אבל או אולי אותה אותו אותם אז אחר אחרי אחת איך אין איפה אל אלה אלו אם אנחנו אני אף את אתה אתם ב באיזה
            באיזו בגלל בה בו בין בכל בלי גם דרך ה הוא היא היה היו הייתה היתה הם הן הנה זאת זה זו יותר יש כאשר כבר
            כדי כי כך ככל כל כמה כמו כן כפי ל לא לאחר לה להיות להם לו לכן למה לפי לפני מ מאוד מאשר מדוע מה מי מן מתי
            עד עוד על עם עצמו פי רק ש של שלא שלה שלהם שלו שם תוך תחת""",
    }.items()
}
"""Function words by language code."""
